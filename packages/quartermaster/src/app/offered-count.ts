import type { Problem, ReviewItem, UpstreamStatus } from '../contracts/index.ts'
import type { Generation } from '../core/catalogue/index.ts'
import { upstreamUnit } from '../core/kernel/index.ts'

/**
 * Upstreams with what agents have of them, which is what is loaded now: what was seen a moment ago is still to come, and what
 * could not be taken in, be it for its name or for what is wrong with it, does not.
 */
export function withOfferedCounts(
  statuses: readonly UpstreamStatus[],
  { capabilities }: Pick<Generation, 'capabilities'>,
  problems: readonly Problem[],
): UpstreamStatus[] {
  return statuses.map(status => {
    const unit = upstreamUnit(status.name)
    // What a name is only warned of for is there.
    const clashes = problems.filter(one => one.where === unit && one.field === 'name' && one.severity === 'error')
    const found = capabilities.get(status.name)
    // Where its own name is taken, by a capability or by something else, nothing of it is there.
    const { tools, prompts, resources } = found?.unit === unit ? found : NOTHING
    return {
      ...status,
      tools: { ...status.tools, offered: tools.length },
      prompts: prompts.length,
      resources: resources.length,
      ...(clashes.length > 0 ? { clashes: clashes.map(clashText) } : {}),
    }
  })
}

const NOTHING = { tools: [], prompts: [], resources: [] }

export function clashText({ message, mend }: Pick<Problem, 'message' | 'mend'>): string {
  return mend === undefined ? message : `${message} ${mend}`
}

/** Who gets the name that agents call something by, when it is offered no more. */
export function heirText(
  { upstream, kind, name }: Pick<ReviewItem, 'upstream' | 'kind' | 'name'>,
  problems: readonly Problem[],
): string | undefined {
  const isHeir = ({ where, subject, field }: Problem) =>
    field === 'name' && subject === `${kind}:${name}` && where !== upstreamUnit(upstream)
  const heir = problems.find(isHeir)?.where
  return heir && `Rejected, it leaves its name to ${heir}: calls of "${name}" go there.`
}
