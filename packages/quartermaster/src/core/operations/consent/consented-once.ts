/** A person's answer for one call: these operations, with the arguments of this digest. */
export interface ConsentedOnce {
  readonly operations: readonly string[]
  readonly digest: string
}
