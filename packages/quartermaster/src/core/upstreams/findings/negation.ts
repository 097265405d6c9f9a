/** What is said not to be done, somewhat before. */
export const NEGATED = /\b(?:never|do not|dont|not|must not|should not|cannot|doesnt|wont)\b.{0,40}$/u
