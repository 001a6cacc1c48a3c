from_tor -> Count -> Count to_tor
Count : c
