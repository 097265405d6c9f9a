import { readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { closest } from '../../core/kernel/index.ts'
import type { Inside } from './inside.ts'
import { kindOfStat, type Pinned } from './pinned.ts'
import { Refusal } from './refusal.ts'
import { type Addressing, type Candidate, isTemporaryName, isUsableName, joinDisplay } from './requested-path.ts'

// Comparing a word with more names than this costs more than a suggestion is worth.
const MOST_NAMES = 5_000

export interface MissingDeps {
  requested: string
  candidates: readonly Candidate[]
  /** What is wrong with folders that it could have been in. */
  problems: readonly Refusal[]
  inside: Inside
  addressing: Addressing
}

/** The refusal for a path that leads to nothing: says what is near, or where to look, and what could not be looked at. */
export async function missing(deps: MissingDeps): Promise<Refusal> {
  const { requested, problems, addressing } = deps
  const near = await nearestOf(deps)
  const said =
    near === undefined
      ? `There is no "${requested}" in the folders you may use: ${addressing.folders}. Look with ${addressing.words.look}.`
      : `There is no "${requested}". Did you mean "${near}"?`
  return new Refusal([said, ...problems.map(problem => problem.message)].join(' '))
}

async function nearestOf({ candidates, inside }: MissingDeps): Promise<string | undefined> {
  for (const candidate of candidates) {
    const near = await nearest(candidate, inside).catch(noSuggestion)
    if (near !== undefined) return near
  }
  return undefined
}

/** The existing name nearest to the first one on the way that does not exist. */
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

/** A suggestion is a courtesy; the refusal stands without it. */
function noSuggestion(): undefined {
  return undefined
}
