"""What every layer shares: intervals, quantities, money, canonical bytes, findings, errors."""
