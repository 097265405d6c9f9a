import { realpath } from 'node:fs/promises'
import type { DataFolder } from './data-folder.ts'
import { kindOfStat, type Pinned, type Walker } from './pinned.ts'
import { errnoOf, Refusal } from './refusal.ts'
import { type Candidate, contains } from './requested-path.ts'
import { settle } from './settle.ts'
import type { Root, WallWords } from './walls-config.ts'

/** A root that can be used. */
export interface OpenRoot {
  readonly pinned: Pinned
  readonly real: string
}

/** The agent's folders, each looked at once per call and only when it is needed. */
export interface Roots {
  /** It stays open until the call ends. Throws a `Refusal` that says what is wrong with it. */
  open(root: Root): Promise<OpenRoot>
  /** The root that a real path lies in; this one is tried first. */
  around(real: string, first: Root): Promise<OpenRoot | undefined>
  /** Tells the candidates whose root can be used. Throws what is wrong with the first one's when there is none. */
  usable(candidates: readonly Candidate[]): Promise<Usable>
}

export interface Usable {
  /** At least one, the best first. */
  readonly candidates: readonly Candidate[]
  /** What is wrong with the roots of the others, in their order. */
  readonly problems: readonly Refusal[]
}

export interface RootsDeps {
  roots: readonly Root[]
  walker: Walker
  dataFolder: DataFolder
  words: Pick<WallWords, 'setting'>
}

export function createRoots({ roots, walker, dataFolder, words }: RootsDeps): Roots {
  const opened = new Map<Root, Promise<OpenRoot>>()
  const correct = `correct "${words.setting}" in this agent's file.`
  function open(root: Root): Promise<OpenRoot> {
    const known = opened.get(root) ?? pinRoot(root, { walker, dataFolder, correct })
    opened.set(root, known)
    return known
  }
  return {
    open,
    async around(real, first) {
      for (const root of new Set([first, ...roots])) {
        const around = await open(root).catch(unlessRefused)
        if (around && contains(around.real, real, process.platform)) return around
      }
      return undefined
    },
    async usable(candidates) {
      const good: Candidate[] = []
      const problems = new Set<Refusal>()
      for (const candidate of candidates) {
        const problem = await open(candidate.root).then(() => undefined, onlyRefusal)
        if (problem) problems.add(problem)
        else good.push(candidate)
      }
      const [first] = problems
      if (good.length === 0 && first) throw first
      return { candidates: good, problems: [...problems] }
    },
  }
}

interface PinDeps extends Pick<RootsDeps, 'walker' | 'dataFolder'> {
  /** What a person has to do about the setting. */
  correct: string
}

async function pinRoot(root: Root, { walker, dataFolder, correct }: PinDeps): Promise<OpenRoot> {
  try {
    const pinned = await walker.root(root.path)
    if (kindOfStat(pinned.stat) !== 'folder')
      throw new Refusal(`"${root.label}" is not a folder. A person has to ${correct}`)
    if (await dataFolder.holds(pinned)) throw closed(root, correct)
    // Whoever gets to a root by a link lets go of it like of anything else; the others still stand on it.
    return { pinned: { ...pinned, release: async () => {} }, real: await realpath(root.path) }
  } catch (error) {
    const code = errnoOf(error) ?? ''
    // To make a folder there would not help.
    if (code === 'ENOENT' && (await dataFolder.claims(await settle(root.path)))) throw closed(root, correct)
    const wrong = WRONG[code]
    throw wrong === undefined ? error : new Refusal(wrong(root.label, correct))
  }
}

function closed(root: Root, correct: string): Refusal {
  return new Refusal(`"${root.label}" belongs to the gateway itself and is closed. A person has to ${correct}`)
}

const locked = (label: string, correct: string) =>
  `The folder "${label}" is closed to the account that the gateway runs under. A person has to open it, or ${correct}`

const WRONG: Readonly<Record<string, (label: string, correct: string) => string>> = {
  EACCES: locked,
  EPERM: locked,
  ELOOP: (label, correct) => `The folder "${label}" is a link that leads in a circle. A person has to ${correct}`,
  ENOENT: (label, correct) => `The folder "${label}" does not exist. A person has to create it, or ${correct}`,
  ENOTDIR: (label, correct) => `"${label}" is not a folder. A person has to ${correct}`,
}

/** One root that cannot be used does not close the others. */
function unlessRefused(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error
}

function onlyRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  throw error
}
