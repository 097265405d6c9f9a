import { readdir, realpath } from 'node:fs/promises'
import { basename, dirname, sep } from 'node:path'
import { closest } from '../../../core/kernel/index.ts'
import { kindOfStat, Moved, type Pinned, type Walker } from './pinned.ts'
import { type DataFolder, resolveReal } from './protected-files.ts'
import { errnoOf, Refusal } from './refusal.ts'
import {
  type Addressing,
  type Candidate,
  contains,
  isTemporaryName,
  isUsableName,
  joinDisplay,
  outside,
  type Root,
  type WallWords,
} from './requested-path.ts'

// An honest rename is over by the second attempt; more replacements are an attack.
const ATTEMPTS = 3

/** Reaches things inside the roots, and nothing else. */
export interface Inside {
  /** The thing at a path, following links that stay inside. Throws `ENOENT` when there is none. */
  reach(path: string, options: ReachOptions): Promise<Pinned>
  /** Throws a refusal for a path that leads outside or into the data folder, whether anything is there or not. */
  refuseOutside(path: string, options: ReachOptions): Promise<void>
  /** An entry of a folder; `undefined` for the data folder. Throws `Moved` for a link. */
  child(folder: Pinned, name: string): Promise<Pinned | undefined>
}

interface ReachOptions {
  requested: string
  /** The root it should be in; it may turn out to be in another. */
  root: Root
}

export function createInside(options: {
  roots: Roots
  walker: Walker
  dataFolder: DataFolder
  addressing: Addressing
}): Inside {
  const { roots, walker, dataFolder, addressing } = options
  async function child(folder: Pinned, name: string): Promise<Pinned | undefined> {
    const next = await walker.step(folder, name)
    if (await dataFolder.owns(next.stat)) return void (await next.release())
    if (kindOfStat(next.stat) !== 'link') return next
    await next.release()
    throw new Moved()
  }

  /** A real path has no links, so a link found in it was created since. */
  async function walk(real: string, { requested, root }: ReachOptions): Promise<Pinned> {
    const around = await roots.around(real, root)
    if (!around) throw outside(requested, addressing)
    let here = around.pinned
    for (const name of namesBetween(around.real, real)) {
      const next = await child(here, name)
      await here.release()
      if (!next) throw outside(requested, addressing)
      here = next
    }
    return here
  }

  async function refuseOutside(path: string, options: ReachOptions): Promise<void> {
    const real = await resolveReal(path)
    if (await dataFolder.claims(real)) throw outside(options.requested, addressing)
    const reached = await walk(real, options).catch(rethrowRefusal)
    await reached?.release()
  }

  return {
    child,
    refuseOutside,
    async reach(path, options) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await walk(await realpath(path), options)
        } catch (error) {
          if (error instanceof Moved && attempt < ATTEMPTS) continue
          // The error of the file system would reveal what is outside.
          if (errnoOf(error) !== undefined) await refuseOutside(path, options)
          throw error
        }
      }
    },
  }
}

/** Errors other than refusals are reported by the operation that follows. */
function rethrowRefusal(error: unknown): undefined {
  if (error instanceof Refusal) throw error
}

function namesBetween(outer: string, inner: string): string[] {
  return inner
    .slice(outer.length)
    .split(sep)
    .filter(name => name !== '')
}

interface OpenRoot {
  readonly pinned: Pinned
  readonly real: string
}

/** The agent's folders, each opened once per call when it is needed. */
export interface Roots {
  /** Opens a root until the call ends. Throws a `Refusal` that says what is wrong with it. */
  open(root: Root): Promise<OpenRoot>
  /** The root around a real path; `first` is tried first. */
  around(real: string, first: Root): Promise<OpenRoot | undefined>
  /** The candidates whose root can be used. Throws the problem of the first one when there is none. */
  usable(candidates: readonly Candidate[]): Promise<{
    /** At least one, the best first. */
    candidates: readonly Candidate[]
    /** The problems of the other roots. */
    problems: readonly Refusal[]
  }>
}

export function createRoots(options: {
  roots: readonly Root[]
  walker: Walker
  dataFolder: DataFolder
  words: Pick<WallWords, 'setting'>
}): Roots {
  const { roots, walker, dataFolder, words } = options
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
        const around = await open(root).catch(ignoreRefusal)
        if (around && contains(around.real, real, process.platform)) return around
      }
      return undefined
    },
    async usable(candidates) {
      const good: Candidate[] = []
      const problems = new Set<Refusal>()
      for (const candidate of candidates) {
        const problem = await open(candidate.root).then(() => undefined, asRefusal)
        if (problem) problems.add(problem)
        else good.push(candidate)
      }
      const [first] = problems
      if (good.length === 0 && first) throw first
      return { candidates: good, problems: [...problems] }
    },
  }
}

async function pinRoot(
  root: Root,
  { walker, dataFolder, correct }: { walker: Walker; dataFolder: DataFolder; correct: string },
): Promise<OpenRoot> {
  try {
    const pinned = await walker.root(root.path)
    if (kindOfStat(pinned.stat) !== 'folder')
      throw new Refusal(`"${root.label}" is not a folder. A person has to ${correct}`)
    if (await dataFolder.holds(pinned)) throw closed(root, correct)
    // A root must stay open while other paths use it.
    return { pinned: { ...pinned, release: async () => {} }, real: await realpath(root.path) }
  } catch (error) {
    const code = errnoOf(error) ?? ''
    if (code === 'ENOENT' && (await dataFolder.claims(await resolveReal(root.path)))) throw closed(root, correct)
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

// A root that cannot be used does not close the others.
function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error
}

function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  throw error
}

// Comparing more names takes too long for a suggestion.
const MOST_NAMES = 5_000

interface MissingDeps {
  requested: string
  candidates: readonly Candidate[]
  /** The problems of folders that it could have been in. */
  problems: readonly Refusal[]
  inside: Inside
  addressing: Addressing
}

/** The refusal for a missing path: suggests a near one, or where to look, and names roots that could not be used. */
export async function missing(deps: MissingDeps): Promise<Refusal> {
  const { requested, problems, addressing } = deps
  const near = await nearestOf(deps)
  const message =
    near === undefined
      ? `There is no "${requested}" in the folders you may use: ${addressing.folders}. See ${addressing.words.look}.`
      : `There is no "${requested}". Did you mean "${near}"?`
  return new Refusal([message, ...problems.map(problem => problem.message)].join(' '))
}

async function nearestOf({ candidates, inside }: MissingDeps): Promise<string | undefined> {
  for (const candidate of candidates) {
    // The refusal is complete without a suggestion.
    const near = await nearest(candidate, inside).catch(() => undefined)
    if (near !== undefined) return near
  }
  return undefined
}

/** The existing name nearest to the first missing one of a path. */
async function nearest(candidate: Candidate, inside: Inside): Promise<string | undefined> {
  if (candidate.path === candidate.root.path) return undefined
  const parent = { ...candidate, path: dirname(candidate.path), display: parentDisplay(candidate.display) }
  const folder = await inside
    .reach(parent.path, { requested: parent.display, root: parent.root })
    .catch(() => undefined)
  if (!folder) return nearest(parent, inside)
  if (kindOfStat(folder.stat) !== 'folder') return undefined
  const name = closest(basename(candidate.path), await namesIn(folder))
  if (name === undefined || !(await isOpen(inside, folder, name))) return undefined
  return joinDisplay(parent.display, name)
}

function parentDisplay(display: string): string {
  return display.includes('/') ? display.slice(0, Math.max(1, display.lastIndexOf('/'))) : '.'
}

async function namesIn(folder: Pinned): Promise<string[]> {
  const names = await readdir(folder.at())
  return names.length > MOST_NAMES ? [] : names.filter(name => isUsableName(name) && !isTemporaryName(name))
}

/** The data folder is not suggested, and neither is a link: it may lead there. */
async function isOpen(inside: Inside, folder: Pinned, name: string): Promise<boolean> {
  return (await inside.child(folder, name)) !== undefined
}
