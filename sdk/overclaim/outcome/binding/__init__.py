"""Claims -> the calls they are about: `binder.bind`, and what in a claim disagrees with them."""
