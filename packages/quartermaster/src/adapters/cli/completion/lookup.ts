import type { AgentControl, Control } from '../../../contracts/index.ts'
import type { Session } from '../session.ts'
import type { Candidate, Lookup } from './candidates.ts'
import type { CompletionKind } from './kinds.ts'

/** Finds no names. Paths are left to the shell: `:files` and `:dirs` tell it so. */
export const pathsAlone: Lookup = async kind => (isPath(kind) ? [{ value: `:${kind}` }] : [])

/** Finds names through `Control`, an agent its own. */
export function createLookup(connect: Session['connectAsAgent']): Lookup {
  return async kind => {
    if (isPath(kind)) return await pathsAlone(kind)
    return await connect(async (control, owner) => {
      if (kind === 'tool' || kind === 'section') return FIND[kind](control)
      return owner ? FIND[kind](owner) : []
    })
  }
}

function isPath(kind: CompletionKind): kind is 'files' | 'dirs' {
  return kind === 'files' || kind === 'dirs'
}

type Find = (control: Control) => Promise<Candidate[]>
type FindOwn = (control: Pick<AgentControl, 'tools'>) => Promise<Candidate[]>

const tools: FindOwn = async control =>
  (await control.tools({})).map(({ name, short }) => ({ value: name, about: short }))

const agents: Find = async control =>
  (await control.agents({})).map(({ name, title }) => ({ value: name, about: title }))

const capabilities: Find = async control =>
  (await control.capabilities({})).map(({ key, short }) => ({ value: key, about: short }))

const upstreams: Find = async control =>
  (await control.upstreams({})).map(({ name, state }) => ({ value: name, about: state }))

const dependencies: Find = async control =>
  (await control.status({})).dependencies.map(({ name, state }) => ({ value: name, about: state }))

const sections: FindOwn = async control =>
  [...new Set((await control.tools({})).map(tool => tool.section))].map(value => ({ value }))

/** Every name by itself, and with its kind for where two are the same. */
const anything: Find = async control => {
  const found = await Promise.all([tools(control), dependencies(control), capabilities(control)])
  const plain = new Map(found.flat().map(candidate => [candidate.value, candidate]))
  const exact = found.flatMap((list, i) => list.map(({ value, about }) => ({ value: `${PREFIXES[i]}${value}`, about })))
  return [...plain.values(), ...exact]
}

const PREFIXES = ['tool:', 'dependency:', 'capability:'] as const

const FIND = {
  tool: tools,
  agent: agents,
  capability: capabilities,
  upstream: upstreams,
  section: sections,
  anything,
} as const satisfies Record<Exclude<CompletionKind, 'files' | 'dirs'>, Find | FindOwn>
