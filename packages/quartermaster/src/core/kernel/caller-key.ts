import type { Caller } from '../../contracts/index.ts'

/** One text for each caller, and no two alike: what is kept apart by who calls is kept by this. Names have no slashes. */
export function callerKey({ organisation, workspace, kind, name }: Caller): string {
  return `${organisation}/${workspace}/${kind}/${name}`
}
