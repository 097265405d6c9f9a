import type { PinKind, Problem, UpstreamConfig } from '../../contracts/index.ts'
import { didYouMean, upstreamUnit } from '../kernel/index.ts'

/** What the configuration says about which tools are wanted. */
export type ToolWishes = Pick<UpstreamConfig, 'offer' | 'leaveOut' | 'tools'>

/** Whether the configuration lets this tool of a server through, by the server's own name. */
export function wantsTool(wishes: ToolWishes, name: string): boolean {
  return whyUnwanted(wishes, name) === undefined
}

/** What in its entry leaves this tool out, for whoever would have it; nothing where it is wanted. */
function whyUnwanted({ offer, leaveOut, tools }: ToolWishes, name: string): string | undefined {
  const options = Object.hasOwn(tools, name) ? tools[name] : undefined
  if (options?.offer === false) return '"tools" says "offer": false of it'
  if (offer !== undefined && !offer.includes(name)) return '"offer" does not name it'
  return leaveOut?.includes(name) ? '"leaveOut" names it' : undefined
}

/** Those of a server's tools that the configuration leaves out, each with the place where that can be changed. */
export function unwantedTools(
  upstream: string,
  wishes: ToolWishes,
  names: Iterable<string>,
): { readonly name: string; readonly reason: string }[] {
  return [...new Set(names)].flatMap(name => {
    const why = whyUnwanted(wishes, name)
    if (why === undefined) return []
    return [{ name, reason: `The owner leaves it out: in the entry of "${upstream}" in "mcpServers", ${why}.` }]
  })
}

/** The same of anything that a server has. Its instructions come with whatever else is used. */
export function wantsDefinition(config: UpstreamConfig, { kind, name }: { kind: PinKind; name: string }): boolean {
  if (kind === 'tool') return wantsTool(config, name)
  if (kind === 'prompt') return config.prompts
  return kind === 'server' || config.resources
}

/** What the configuration says about tools that the server does not have: a wrong word there would do nothing, silently. */
export function unknownTools(upstream: string, wishes: ToolWishes, known: readonly string[]): Problem[] {
  const { offer = [], leaveOut = [], tools } = wishes
  const named = [
    ...offer.map(name => ({ name, field: 'offer' })),
    ...leaveOut.map(name => ({ name, field: 'leaveOut' })),
    ...Object.keys(tools).map(name => ({ name, field: `tools.${name}` })),
  ]
  return named
    .filter(({ name }) => !known.includes(name))
    .map(({ name, field }) => ({
      severity: 'warning',
      code: 'CONFIG_INVALID',
      where: upstreamUnit(upstream),
      subject: `tool:${name}`,
      field: `mcpServers.${upstream}.${field}`,
      message: `"${upstream}" has no tool "${name}".${didYouMean(name, known)}`,
    }))
}
