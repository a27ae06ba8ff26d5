//! Dropout whose mask is a function of the address of an element.
