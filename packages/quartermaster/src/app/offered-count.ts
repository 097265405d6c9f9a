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
    const { tools, prompts, resources, leftOut: absent } = found?.unit === unit ? found : NOTHING
    const isClash = (one: Problem) => clashes.includes(one)
    const known = new Set([
      ...tools.flatMap(({ name, ownName }) => [`tool:${name}`, `tool:${ownName}`]),
      // What waits for a person is counted by itself.
      ...absent.flatMap(({ name, isWrong }) => (isWrong ? [] : [`tool:${name}`])),
      ...prompts.map(({ name }) => `prompt:${name}`),
      ...resources.flatMap(({ key }) => [`resource:${key}`, `template:${key}`]),
    ])
    const leftOut = leftOutOf(
      problems.filter(one => one.where === unit && !isClash(one) && !known.has(one.subject ?? '')),
    )
    return {
      ...status,
      tools: { ...status.tools, offered: tools.length },
      prompts: prompts.length,
      resources: resources.length,
      ...(leftOut ? { leftOut } : {}),
      ...(clashes.length > 0 ? { clashes: clashes.map(clashText) } : {}),
    }
  })
}

const NOTHING = { tools: [], prompts: [], resources: [], leftOut: [] }

const FIRST_LEFT_OUT = 5

/** Of several things that are wrong with one definition the first is told. */
function leftOutOf(problems: readonly Problem[]): UpstreamStatus['leftOut'] {
  const found = new Map<string, { definition: string; reason: string }>()
  for (const { code, subject = '', message } of problems) {
    const [, kind, name] = /^(tool|prompt|resource|template)(?::(.*))?$/s.exec(subject) ?? []
    if (code !== 'DEFINITION_INVALID' || kind === undefined) continue
    // One without a name is known by its place, which the message says.
    const definition = name === undefined ? kind : `${kind} "${name}"`
    const key = name === undefined ? message : subject
    if (!found.has(key)) found.set(key, { definition, reason: message })
  }
  return found.size === 0 ? undefined : { count: found.size, first: [...found.values()].slice(0, FIRST_LEFT_OUT) }
}

export function clashText({ message, fix }: Pick<Problem, 'message' | 'fix'>): string {
  return fix === undefined ? message : `${message} ${fix}`
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
