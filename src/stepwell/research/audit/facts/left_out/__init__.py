"""What a claim leaves out of the sentence it rests on: `finding` applies the rules of `doubts` and `limits`."""
