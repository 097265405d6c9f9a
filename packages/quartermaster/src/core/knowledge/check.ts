import { type Problem } from '../../contracts/index.ts'
import { type Generation, type Knowledge } from '../catalogue/index.ts'
import { type Clock, didYouMean, inTurns, type Steps } from '../kernel/index.ts'
import {
  type Fault,
  type LocalLink,
  localLinks,
  toolPath,
  toolText,
  toProblem,
  unitText,
  type WrittenText,
} from './entry.ts'
import { includesIn, libraryOf, strayIncludes, withIncludes } from './library.ts'
import { anchorsOf, plainAnchor, unendedIn } from './markdown.ts'
import { type Directions, isDirections } from './skill.ts'

/** Those who know what a check has to ask. */
export interface CheckParts extends Asked {
  readonly files: KnowledgeFiles
}

interface CheckDeps extends CheckParts {
  readonly clock: Pick<Clock, 'now' | 'breathe'>
}

/**
 * What is wrong between the units of a generation, and between them and everything else: each by itself was right, or it
 * would not be among them. There may be ten thousand, so others have their turn meanwhile.
 */
export async function checkLibrary(generation: Generation, deps: CheckDeps): Promise<Problem[]> {
  const units = [...generation.knowledge.values()]
  const declared = [...generation.tools.values()].filter(({ body }) => body !== undefined).map(toolText)
  const faults = [
    ...(await inTurns(unitFaults(generation, units, deps), deps.clock)),
    ...declared.flatMap(declaredFaults),
    ...(await checkLinks(generation, { texts: [...units.map(unitText), ...declared], ...deps })),
  ]
  return faults.map(toProblem)
}

function* unitFaults(generation: Generation, units: readonly Knowledge[], deps: CheckDeps): Steps<Fault[]> {
  const faults: Fault[] = []
  const included = new Set<string>()
  for (const unit of units) {
    faults.push(
      ...includeFaults(unit, generation, included),
      ...textFaults(unitText(unit)),
      ...pathFaults(unit, generation),
      ...circleFaults(unit, generation),
      ...toolFaults(unit, generation),
      ...checkDirections(unit, generation, deps),
    )
    yield
  }
  faults.push(...commandFaults(generation, units), ...aliasFaults(generation, units))
  return faults
}

/** Each line once, however many units include its unit. */
function includeFaults(unit: Knowledge, { knowledge }: Generation, told: Set<string>): Fault[] {
  return withIncludes(unit, one => knowledge.get(one)).faults.flatMap(({ unit: path, line, message }): Fault[] => {
    const place = knowledge.get(path)
    if (!place || told.has(`${path}\n${line}`)) return []
    told.add(`${path}\n${line}`)
    const text = unitText(place)
    return [{ severity: 'error', text, bodyLine: line, message: `It is not included: ${message}` }]
  })
}

function textFaults(text: WrittenText): Fault[] {
  const message = 'An include stands on a line of its own; here it is shown as it is.'
  const stray = strayIncludes(text.body).map((bodyLine): Fault => ({ severity: 'warning', text, bodyLine, message }))
  return [...stray, ...unendedFaults(text)]
}

function unendedFaults(text: WrittenText): Fault[] {
  const unended = unendedIn(text.body)
  if (!unended) return []
  const message = `"${unended.mark}" begins here and never ends: nothing below it is read as Markdown.`
  return [{ severity: 'warning', text, bodyLine: unended.line, message }]
}

/** The page of a tool is about that tool alone. */
function declaredFaults(text: WrittenText): Fault[] {
  const message = 'The text of a tool includes nothing; the line is shown as it is.'
  const whole = includesIn(text.body).map(
    ({ line: bodyLine }): Fault => ({ severity: 'warning', text, bodyLine, message }),
  )
  return [...whole, ...textFaults(text)]
}

function pathFaults(unit: Knowledge, generation: Generation): Fault[] {
  const { entries } = libraryOf(generation)
  return (['parents', 'seeAlso'] as const).flatMap(field =>
    unit[field]
      .filter(path => !entries.has(path))
      .map(path => ({
        severity: 'warning',
        text: unitText(unit),
        field,
        message: `It names "${path}", and there is nothing there.${didYouMean(path, entries.keys())}`,
      })),
  )
}

function circleFaults(unit: Knowledge, { knowledge }: Generation): Fault[] {
  const seen = new Set<string>()
  const waiting = [...unit.parents]
  for (const path of waiting) {
    if (path === unit.path)
      return [{ severity: 'warning', text: unitText(unit), field: 'parents', message: 'It lies below itself.' }]
    if (seen.has(path)) continue
    seen.add(path)
    waiting.push(...(knowledge.get(path)?.parents ?? []))
  }
  return []
}

/** A server that has not been seen yet may still bring it, so it is no error. */
function toolFaults(unit: Knowledge, generation: Generation): Fault[] {
  const { entries } = libraryOf(generation)
  const { tools } = generation
  return unit.tools.flatMap((name): Fault[] => {
    if (tools.has(name)) return []
    const { of } = entries.get(toolPath(name)) ?? {}
    const what =
      of && 'withheld' in of
        ? `which is held back: ${of.withheld.reason}`
        : `which does not exist.${didYouMean(name, tools.keys())}${unit.kind === 'directions' ? ' No agent is offered these directions.' : ''}`
    const message = `It names the tool "${name}", ${what}`
    return [{ severity: 'warning', text: unitText(unit), field: 'tools', message }]
  })
}

/** A project may put directions of its own in the place of ours. */
function commandFaults({ prompts }: Generation, units: readonly Knowledge[]): Fault[] {
  const own = new Map<string, Knowledge>()
  return units
    .filter(({ isBuiltin }) => !isBuiltin)
    .flatMap((unit): Fault[] => {
      const { command } = unit
      if (command === undefined) return []
      if (unit.kind !== 'directions') return [uncalled(unit)]
      const at = { text: unitText(unit), field: 'command' }
      const first = own.get(command)
      if (first)
        return [{ ...at, severity: 'error', message: `"${command}" is the command of "${first.path}" already.` }]
      own.set(command, unit)
      const message = `"${command}" is also a prompt of a capability, which agents with that capability get instead.`
      return prompts.has(command) ? [{ ...at, severity: 'warning', message }] : []
    })
}

function uncalled(unit: Knowledge): Fault {
  const message = `Only directions are called by a command; this is of kind "${unit.kind}".`
  return { severity: 'warning', text: unitText(unit), field: 'command', message }
}

function aliasFaults({ knowledge, tools }: Generation, units: readonly Knowledge[]): Fault[] {
  const taken = new Map<string, Knowledge>()
  return units.flatMap(unit =>
    unit.aliases.flatMap((alias): Fault[] => {
      const word = alias.trim().toLowerCase()
      const first = taken.get(word) ?? knowledge.get(alias.trim())
      if (!first) taken.set(word, unit)
      const at = { severity: 'warning', text: unitText(unit), field: 'aliases' } as const
      if (first !== undefined && first !== unit)
        return [{ ...at, message: `"${alias}" is also what "${first.path}" is called.` }]
      return tools.has(alias.trim()) ? [{ ...at, message: `"${alias}" is the name of a tool.` }] : []
    }),
  )
}

/** What is asked of those who offer directions and answer with them. */
interface Asked {
  /** How many bytes an answer may have. */
  readonly maxResultBytes: number
  /** Whether some agent is offered these directions; `undefined` where there is no agent that could be. */
  isOffered(directions: Directions): boolean | undefined
}

/** Valid directions that no agent can follow. */
function checkDirections(unit: Knowledge, generation: Generation, asked: Asked): Fault[] {
  if (!isDirections(unit)) return []
  return [...sizeFault(unit, generation, asked), ...offerFault(unit, generation, asked)]
}

/** They are read as a whole or not at all, so what is too long is an error. */
function sizeFault(unit: Directions, { knowledge }: Generation, { maxResultBytes }: Asked): Fault[] {
  const { text } = withIncludes(unit, path => knowledge.get(path))
  const bytes = new TextEncoder().encode(JSON.stringify([text, unit.summary, unit.whenToUse])).length + AROUND_BYTES
  if (bytes <= maxResultBytes) return []
  const message = `With what they include, these directions make an answer of ${bytes} bytes, and ${maxResultBytes} is the most there may be ("maxResultBytes"): no agent can read them as a prompt or a skill. Part them.`
  return [{ severity: 'error', text: unitText(unit), message }]
}

/** What an answer has beside the text. */
const AROUND_BYTES = 512

function offerFault(unit: Directions, { tools }: Generation, { isOffered }: Asked): Fault[] {
  // Of a tool that does not exist it is told by itself.
  if (unit.isBuiltin || unit.tools.some(name => !tools.has(name)) || isOffered(unit) !== false) return []
  const needed = unit.tools.map(name => `"${name}" (capability "${tools.get(name)?.capability}")`)
  const message = `No agent is offered these directions: none has all of ${needed.join(', ')}.`
  return [{ severity: 'warning', text: unitText(unit), field: 'tools', message }]
}

/** The files of the project, as far as links lead to them. */
interface KnowledgeFiles {
  /** Whether there is a file or folder at this path, which begins at the project's folder. */
  exists(path: string): Promise<boolean>
}

interface LinkDeps {
  readonly texts: readonly WrittenText[]
  readonly files: KnowledgeFiles
  readonly clock: Pick<Clock, 'now' | 'breathe'>
}

/** Links that lead nowhere. */
async function checkLinks(generation: Generation, { texts, files, clock }: LinkDeps): Promise<Fault[]> {
  const { faults, toFiles } = await inTurns(followed(generation, texts), clock)
  const absent = new Set<string>()
  for (const path of new Set(toFiles.map(({ path: one }) => one))) if (!(await files.exists(path))) absent.add(path)
  const missing = toFiles.filter(({ path }) => absent.has(path)).map(({ fault }) => fault)
  return [...faults, ...missing]
}

interface Followed {
  readonly faults: Fault[]
  /** Those that lead to no text that was read: whether there is such a file has to be looked at. */
  readonly toFiles: { readonly path: string; readonly fault: Fault }[]
}

function* followed(generation: Generation, texts: readonly WrittenText[]): Steps<Followed> {
  const found: Followed = { faults: [], toFiles: [] }
  const byFile = new Map(texts.map(text => [text.unit.normalize('NFC'), text]))
  const anchors = anchorsIn(generation)
  for (const text of texts) {
    for (const link of localLinks(text.body)) {
      const { target } = link
      const path = target === '' ? text.unit : resolved(text.unit, target)
      const linked = target === '' ? text : path && byFile.get(path.normalize('NFC'))
      const fault = (message: string): Fault => ({ severity: 'warning', text, bodyLine: link.line, message })
      if (path === undefined) found.faults.push(fault(`The link "${target}" leads out of the project.`))
      else if (linked) found.faults.push(...headingFault(link, linked, anchors).map(fault))
      // Links of the built-in pages to files are not checked: those files are not installed.
      else if (!text.isBuiltin) found.toFiles.push({ path, fault: fault(`The link "${target}" leads to no file.`) })
    }
    yield
  }
  return found
}

function headingFault({ target, anchor = '' }: LocalLink, linked: WrittenText, anchors: Anchors): string[] {
  if (anchor === '' || ALWAYS.test(anchor) || anchors(linked).has(plainAnchor(anchor))) return []
  return [`The link "${target}#${anchor}" leads to no heading of "${linked.path}".`]
}

/** The beginning of a page, and lines of its file. */
const ALWAYS = /^(?:top|L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?)$/i

type Anchors = (text: WrittenText) => ReadonlySet<string>

/** What stands in a text counts wherever it was written. */
function anchorsIn({ knowledge }: Generation): Anchors {
  const known = new Map<WrittenText, ReadonlySet<string>>()
  return text => {
    const before = known.get(text)
    if (before) return before
    const found = anchorsOf(text.of === 'unit' ? withIncludes(text, path => knowledge.get(path)).text : text.body)
    known.set(text, found)
    return found
  }
}

/** A path beside a file, or nothing where it would lead above all. One that begins with `/` counts from the top. */
function resolved(file: string, target: string): string | undefined {
  const names = target.startsWith('/') ? [] : file.split('/').slice(0, -1)
  for (const name of target.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.pop() === undefined) return undefined
  }
  return names.join('/')
}
