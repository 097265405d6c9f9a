/** A place in a text where a secret may stand. */
export interface SecretPlace {
  /** Everything but the groups `before` and `after` is the secret. */
  readonly form: RegExp
  /** A text without it is not looked through: most have none of it, and a look for a word costs little. */
  readonly hint?: RegExp
  /** Whether it is none after all, by what stands before it and by itself. */
  readonly spares?: (before: string, value: string) => boolean
}
