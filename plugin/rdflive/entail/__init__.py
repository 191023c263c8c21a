"""What a graph entails: saturation, reformulation, rules, and the choice between them."""
