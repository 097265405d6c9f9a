import type { Generation } from '../../core/catalogue/index.ts'

/** A tool that a capability has and does not offer. */
export interface Withheld {
  /** The name it would be called by. */
  readonly name: string
  /** As whoever made it calls it. */
  readonly ownName: string
  readonly capability: string
  readonly reason: string
}

/** All of them, in order of definition. */
export function withheldIn({ capabilities }: Generation): Withheld[] {
  return [...capabilities.values()].flatMap(({ key, leftOut }) =>
    leftOut.map(({ name, calledAs = name, reason }) => ({ name: calledAs, ownName: name, capability: key, reason })),
  )
}
