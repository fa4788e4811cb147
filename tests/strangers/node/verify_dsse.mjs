// Checks DSSE envelopes with @sigstore/core. Input: a JSON list of {envelope, keys}, where keys
// are public keys in PEM by keyid. Output: for each, the keyids whose signatures hold.
import { readFileSync } from 'node:fs';
import { crypto, dsse } from '@sigstore/core';

const cases = JSON.parse(readFileSync(0, 'utf8'));
const verified = cases.map(({ envelope, keys }) => {
  const payload = Buffer.from(envelope.payload, 'base64');
  const message = dsse.preAuthEncoding(envelope.payloadType, payload);
  return envelope.signatures
    .filter(({ keyid }) => keyid in keys)
    .filter(({ keyid, sig }) =>
      crypto.verify(message, crypto.createPublicKey(keys[keyid]), Buffer.from(sig, 'base64')),
    )
    .map(({ keyid }) => keyid);
});
process.stdout.write(JSON.stringify(verified));
