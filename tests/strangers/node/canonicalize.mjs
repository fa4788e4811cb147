// Writes each line of JSON in its canonical form (RFC 8785), a line each.
import { readFileSync } from 'node:fs';
import canonicalize from 'canonicalize';

const lines = readFileSync(0, 'utf8').split('\n').slice(0, -1);
process.stdout.write(lines.map((line) => `${canonicalize(JSON.parse(line))}\n`).join(''));
