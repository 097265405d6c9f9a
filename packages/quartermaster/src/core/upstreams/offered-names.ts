import { Name, type Problem } from '../../contracts/index.ts'
import type { Digest } from '../kernel/index.ts'
import { upstreamUnit } from '../kernel/index.ts'
import { excerptOf } from './visible-text.ts'

export interface OfferedNamesOptions {
  readonly upstream: string
  /** What stands before every name, followed by `_`; `false` for nothing. */
  readonly prefix: string | false
  /** As the server calls them. */
  readonly names: readonly string[]
  /** Names that the configuration gives, by the server's own. They stand as they are, without the prefix. */
  readonly given?: ReadonlyMap<string, string> | undefined
  /** What they are names of. */
  readonly kind?: 'tool' | 'prompt' | undefined
  readonly digest: Digest
}

/** Under which names things of a server are offered, by the server's own; what got none is not in there. */
export interface OfferedNames {
  readonly names: ReadonlyMap<string, string>
  readonly problems: readonly Problem[]
}

const LONGEST = 64

/**
 * Makes names that every runtime takes. They depend on the names alone and not on their order, so that a server which lists
 * its tools differently tomorrow still offers the same ones.
 */
export function offeredNames(options: OfferedNamesOptions): OfferedNames {
  const { upstream, prefix, names, given = new Map<string, string>(), kind = 'tool', digest } = options
  const unique = [...new Set(names)].sort()
  const problems: Problem[] = []
  const tell = (own: string, message: string) =>
    problems.push({
      ...problemWith(upstream, `${kind}:${excerptOf(own)}`, message),
      fix: FIXES[kind](upstream),
    })
  const result = new Map<string, string>()
  const taken = new Set<string>()
  const take = (own: string, name: string) => {
    result.set(own, name)
    taken.add(name)
  }

  const left = unique.filter(own => {
    const name = given.get(own)
    if (name === undefined) return true
    if (!taken.has(name)) return void take(own, name)
    tell(own, `is to be called "${name}", and so is another. It keeps the name made from its own.`)
    return true
  })
  const wishes = left.map(own => wantedName(own, prefix))
  for (const { own, name, isExact } of wishes) if (isExact && !taken.has(name)) take(own, name)
  const shared = counted(wishes.map(wish => wish.name))
  for (const { own, name, isCut } of wishes) {
    if (result.has(own)) continue
    const isAlone = shared.get(name) === 1 && !taken.has(name) && !isCut && Name.safeParse(name).success
    const final = isAlone ? name : distinct(name, own, taken, digest)
    if (final === undefined) tell(own, 'has no name of its own that it could be offered under. It is left out.')
    else take(own, final)
    if (final !== undefined && !isAlone && !isCut)
      tell(own, `would be called "${name}" like another. It is "${final}".`)
  }
  return { names: result, problems }
}

interface WantedName {
  readonly own: string
  readonly name: string
  /** Nothing of the server's own name had to be changed. */
  readonly isExact: boolean
  readonly isCut: boolean
}

function wantedName(own: string, prefix: string | false): WantedName {
  const whole = prefix === false ? own : `${prefix}_${own}`
  const name = whole.replace(/[^A-Za-z0-9_-]/gu, '_')
  const isCut = name.length > LONGEST
  return { own, name, isCut, isExact: name === whole && Name.safeParse(name).success }
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Ever more of the digest, in case that a server has taken the short one on purpose. */
const DIGEST_LENGTHS = [8, 16, 32] as const

function distinct(name: string, own: string, taken: ReadonlySet<string>, digest: Digest): string | undefined {
  const hash = digest(own)
  const candidates = DIGEST_LENGTHS.map(length => `${name.slice(0, LONGEST - 1 - length)}_${hash.slice(0, length)}`)
  return candidates.find(candidate => !taken.has(candidate))
}

const FIXES = {
  tool: (upstream: string) =>
    `A tool can be given a name in the configuration: "mcpServers": { "${upstream}": { "tools": … } }.`,
  prompt: (upstream: string) =>
    `A prompt keeps its name. Leave them out where nobody needs them: "mcpServers": { "${upstream}": { "prompts": false } }.`,
} as const

function problemWith(upstream: string, subject: string, message: string): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: upstreamUnit(upstream),
    subject,
    message: `${subject.replace(':', ' "')}" of "${upstream}" ${message}`,
  }
}
