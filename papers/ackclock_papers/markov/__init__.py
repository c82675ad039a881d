"""The Markov model of AIMD: Bogoiavlenskaia, Kojo, Mutka, Alanko 2002."""
