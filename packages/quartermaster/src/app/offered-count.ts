import type { Problem, ReviewItem, UpstreamStatus } from '../contracts/index.ts'
import type { Generation } from '../core/catalogue/index.ts'

/** What upstreams offer without what could not be taken in, be it for its name or for what is wrong with it. */
export function withOfferedCounts(
  statuses: readonly UpstreamStatus[],
  { capabilities }: Pick<Generation, 'capabilities'>,
  problems: readonly Problem[],
): UpstreamStatus[] {
  return statuses.map(status => {
    const unit = `upstream:${status.name}`
    const clashes = problems.filter(({ where, field }) => where === unit && field === 'name')
    const told = clashes.length === 0 ? status : { ...status, clashes: clashes.map(clashText) }
    const found = capabilities.get(status.name)
    if (!found) return told
    const { offered } = status.tools
    // Where its own name is taken, nothing of it is there.
    if (found.unit !== unit) return { ...told, tools: { ...status.tools, offered: 0 }, prompts: 0, resources: 0 }
    const lost = found.leftOut.filter(({ isWrong }) => isWrong).length
    const lostPrompts = clashes.filter(({ subject }) => subject?.startsWith('prompt:')).length
    if (lost + lostPrompts === 0) return told
    return {
      ...told,
      tools: { ...status.tools, offered: Math.max(0, offered - lost) },
      prompts: Math.max(0, status.prompts - lostPrompts),
    }
  })
}

export function clashText({ message, mend }: Pick<Problem, 'message' | 'mend'>): string {
  return mend === undefined ? message : `${message} ${mend}`
}

/** Who gets the name of something when it is offered no more. */
export function heirText(
  { upstream, kind, name, calledAs = name }: ReviewItem,
  problems: readonly Problem[],
): string | undefined {
  const isHeir = ({ where, subject, field }: Problem) =>
    field === 'name' && subject === `${kind}:${calledAs}` && where !== `upstream:${upstream}`
  const heir = problems.find(isHeir)?.where
  return heir && `Rejected, it leaves its name to ${heir}: calls of "${calledAs}" go there.`
}
