import type { Control } from '../../../contracts/index.ts'
import type { Candidate, Lookup } from './candidates.ts'
import type { CompletionKind } from './kinds.ts'

/** Finds names through `Control`. Paths are left to the shell: `:files` and `:dirs` tell it so. */
export function createLookup(connect: <T>(use: (control: Control) => Promise<T>) => Promise<T>): Lookup {
  return async kind => {
    if (kind === 'files' || kind === 'dirs') return [{ value: `:${kind}` }]
    return await connect(control => FIND[kind](control))
  }
}

type Find = (control: Control) => Promise<Candidate[]>

const tools: Find = async control => (await control.tools({})).map(({ name, short }) => ({ value: name, about: short }))

const agents: Find = async control =>
  (await control.agents({})).map(({ name, title }) => ({ value: name, about: title }))

const capabilities: Find = async control =>
  (await control.capabilities({})).map(({ key, short }) => ({ value: key, about: short }))

const upstreams: Find = async control =>
  (await control.upstreams({})).map(({ name, state }) => ({ value: name, about: state }))

const dependencies: Find = async control =>
  (await control.status({})).dependencies.map(({ name, state }) => ({ value: name, about: state }))

const sections: Find = async control =>
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
} as const satisfies Record<Exclude<CompletionKind, 'files' | 'dirs'>, Find>
