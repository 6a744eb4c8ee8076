"""Tokenizes texts by the package tokenizers. usage: encode_texts.py TOKENIZER.json < JSON list of texts > JSON list of ids"""

import json
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
texts = json.load(sys.stdin)
json.dump([tokenizer.encode(text, add_special_tokens=False).ids for text in texts], sys.stdout)
