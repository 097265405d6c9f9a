import { HOPS_KEY } from '../../contracts/index.ts'

/** More than any setting lets a task be passed on. */
const MOST = 1_000

/** How often a task was passed on before, by the metadata of its message. Whatever else stands there says nothing. */
export function hopsIn(metadata: unknown): number {
  if (typeof metadata !== 'object' || metadata === null || !Object.hasOwn(metadata, HOPS_KEY)) return 0
  const said: unknown = Reflect.get(metadata, HOPS_KEY)
  return typeof said === 'number' && said > 0 ? Math.min(Math.ceil(said), MOST) : 0
}
