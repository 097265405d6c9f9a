import type { Caller } from '../../../contracts/index.ts'

/** On whose behalf something was done, as every row about it says. */
export interface Whose {
  readonly organisation: string
  readonly workspace: string
  readonly callerKind: Caller['kind']
  readonly callerName: string
}

/** The columns that say whose a row is. */
export function whoseRow({ organisation, workspace, kind: callerKind, name: callerName }: Caller): Whose {
  return { organisation, workspace, callerKind, callerName }
}

/** The same, of another row. */
export function whoseOf({ organisation, workspace, callerKind, callerName }: Whose): Whose {
  return { organisation, workspace, callerKind, callerName }
}

/** Whose row it is. */
export function callerOf({ organisation, workspace, callerKind: kind, callerName: name }: Whose): Caller {
  return { kind, organisation, name, workspace }
}
