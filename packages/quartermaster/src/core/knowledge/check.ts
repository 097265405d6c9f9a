import { type Problem } from '../../contracts/index.ts'
import { type Generation, type Knowledge } from '../catalogue/index.ts'
import { type Clock, didYouMean, inTurns, type Steps } from '../kernel/index.ts'
import { type Directions, grouped, isDirections, toolPath } from './entry.ts'
import { includesIn, withIncludes } from './includes.ts'
import { libraryOf } from './library.ts'
import { type LocalLink, type ParsedPage } from './markdown.ts'

/** The facts that a check has to ask for. */
export interface CheckParts {
  /** The most bytes that an answer may have. */
  readonly maxResultBytes: number
  /** Whether an agent is offered these directions; `undefined` where there are no agents. */
  isOffered(directions: Directions): boolean | undefined
  readonly files: {
    /** Whether there is a file or folder at this path below the project folder. */
    exists(path: string): Promise<boolean>
  }
}

/** A text that a person wrote: a unit, or the text of a declared tool. */
interface WrittenText extends Pick<Knowledge, 'path' | 'unit' | 'lines' | 'body' | 'isBuiltin'> {
  /** The unit; nothing for a tool, whose name is the path. */
  readonly knowledge: Knowledge | undefined
  readonly page: ParsedPage
}

interface Fault {
  readonly severity: Problem['severity']
  readonly text: WrittenText
  readonly field?: string
  /** The line of its body. */
  readonly bodyLine?: number
  readonly message: string
}

type Parse = (text: string) => ParsedPage

/**
 * Finds what is wrong between the units of a generation, and between them and tools, agents and files. Each unit was validated on
 * load. There may be ten thousand, so the check yields to other work.
 */
export async function checkLibrary(
  generation: Generation,
  { clock, ...parts }: CheckParts & { readonly clock: Pick<Clock, 'now' | 'breathe'> },
): Promise<Problem[]> {
  const { parsePage } = await import('./markdown.ts')
  const texts = await inTurns(parsedTexts(generation, parsePage), clock)
  const faults = await inTurns(textFaults(generation, texts, parts), clock)
  const links = await inTurns(linkFaults(generation, texts, parsePage), clock)
  return [...faults, ...links.faults, ...(await missingFiles(links.toFiles, parts))].map(toProblem)
}

function* parsedTexts({ knowledge, tools }: Generation, parse: Parse): Steps<WrittenText[]> {
  const texts: WrittenText[] = []
  for (const one of knowledge.values()) {
    const { path, unit, lines, body, isBuiltin } = one
    texts.push({ path, unit, lines, body, isBuiltin, knowledge: one, page: parse(body) })
    yield
  }
  for (const { name: path, unit, lines, body } of tools.values()) {
    if (body === undefined) continue
    texts.push({ path, unit, lines, body, isBuiltin: false, knowledge: undefined, page: parse(body) })
    yield
  }
  return texts
}

function* textFaults(generation: Generation, texts: readonly WrittenText[], parts: CheckParts): Steps<Fault[]> {
  const faults: Fault[] = []
  const findIncludeFaults = createIncludeCheck(generation, texts)
  for (const text of texts) {
    const unit = text.knowledge
    faults.push(...(unit ? findIncludeFaults(unit) : toolIncludeFaults(text)), ...pageFaults(text))
    if (unit)
      faults.push(
        ...pathFaults(unit, text, generation),
        ...cycleFaults(unit, text, generation),
        ...toolFaults(unit, text, generation),
        ...directionsFaults(unit, text, { generation, ...parts }),
      )
    yield
  }
  return [...faults, ...commandFaults(generation, texts), ...aliasFaults(generation, texts)]
}

/** Reports each line once, however many units include its unit. */
function createIncludeCheck({ knowledge }: Generation, texts: readonly WrittenText[]): (unit: Knowledge) => Fault[] {
  const byPath = new Map(texts.flatMap(text => (text.knowledge ? [[text.path, text] as const] : [])))
  const reported = new Set<string>()
  return unit =>
    withIncludes(unit, path => knowledge.get(path)).faults.flatMap(({ unit: path, line, message }): Fault[] => {
      const text = byPath.get(path)
      const place = `${path}\n${line}`
      if (!text || reported.has(place)) return []
      reported.add(place)
      return [{ severity: 'error', text, bodyLine: line, message: `It is not included: ${message}` }]
    })
}

function toolIncludeFaults(text: WrittenText): Fault[] {
  const message = 'The text of a tool includes nothing; the line is shown as it is.'
  return includesIn(text.body).map(({ line: bodyLine }) => ({ severity: 'warning', text, bodyLine, message }))
}

function pageFaults(text: WrittenText): Fault[] {
  const { includeLines, unclosed } = text.page
  const includes = new Set(includesIn(text.body).map(({ line }) => line))
  const message = 'An include stands on a line of its own; here it is shown as it is.'
  const stray = includeLines
    .filter(line => !includes.has(line))
    .map((bodyLine): Fault => ({ severity: 'warning', text, bodyLine, message }))
  if (!unclosed) return stray
  const unclosedMessage = `"${unclosed.mark}" begins here and never ends: nothing below it is read as Markdown.`
  return [...stray, { severity: 'warning', text, bodyLine: unclosed.line, message: unclosedMessage }]
}

function pathFaults(unit: Knowledge, text: WrittenText, generation: Generation): Fault[] {
  const { entries } = libraryOf(generation)
  return (['parents', 'seeAlso'] as const).flatMap(field =>
    unit[field]
      .filter(path => !entries.has(path))
      .map(path => {
        const message = `It names "${path}", and there is nothing there.${didYouMean(path, entries.keys())}`
        return { severity: 'warning', text, field, message }
      }),
  )
}

function cycleFaults({ path, parents }: Knowledge, text: WrittenText, { knowledge }: Generation): Fault[] {
  const above = new Set(parents)
  for (const one of above) for (const parent of knowledge.get(one)?.parents ?? []) above.add(parent)
  return above.has(path) ? [{ severity: 'warning', text, field: 'parents', message: 'It lies below itself.' }] : []
}

/** Unknown tools are warnings: a server that has not connected yet may bring them. */
function toolFaults({ tools, kind }: Knowledge, text: WrittenText, generation: Generation): Fault[] {
  const { entries } = libraryOf(generation)
  return tools.flatMap((name): Fault[] => {
    if (generation.tools.has(name)) return []
    const { of } = entries.get(toolPath(name)) ?? {}
    const consequence = kind === 'directions' ? ' No agent is offered these directions.' : ''
    const why =
      of && 'withheld' in of
        ? `which is held back: ${of.withheld.reason}`
        : `which does not exist.${didYouMean(name, generation.tools.keys())}${consequence}`
    return [{ severity: 'warning', text, field: 'tools', message: `It names the tool "${name}", ${why}` }]
  })
}

/** Directions of the project may take the command of built-in ones. */
function commandFaults({ prompts }: Generation, texts: readonly WrittenText[]): Fault[] {
  const taken = new Map<string, WrittenText>()
  return texts.flatMap((text): Fault[] => {
    const { kind, command } = text.knowledge ?? {}
    if (command === undefined || text.isBuiltin) return []
    const fault = (severity: Fault['severity'], message: string) => [{ severity, text, field: 'command', message }]
    if (kind !== 'directions')
      return fault('warning', `Only directions are called by a command; this is of kind "${kind}".`)
    const first = taken.get(command)
    if (first) return fault('error', `"${command}" is the command of "${first.path}" already.`)
    taken.set(command, text)
    const message = `"${command}" is also a prompt of a capability, which agents with that capability get instead.`
    return prompts.has(command) ? fault('warning', message) : []
  })
}

function aliasFaults({ knowledge, tools }: Generation, texts: readonly WrittenText[]): Fault[] {
  const taken = new Map<string, Knowledge>()
  return texts.flatMap(text => {
    const unit = text.knowledge
    if (!unit) return []
    return unit.aliases.flatMap((alias): Fault[] => {
      const word = alias.trim().toLowerCase()
      const first = taken.get(word) ?? knowledge.get(alias.trim())
      if (!first) taken.set(word, unit)
      const fault = (message: string): Fault[] => [{ severity: 'warning', text, field: 'aliases', message }]
      if (first !== undefined && first !== unit) return fault(`"${alias}" is also what "${first.path}" is called.`)
      return tools.has(alias.trim()) ? fault(`"${alias}" is the name of a tool.`) : []
    })
  })
}

/** Directions that are valid, but that no agent can follow. */
function directionsFaults(
  unit: Knowledge,
  text: WrittenText,
  { generation: { knowledge, tools }, maxResultBytes, isOffered }: CheckParts & { readonly generation: Generation },
): Fault[] {
  if (!isDirections(unit)) return []
  const faults: Fault[] = []
  const whole = withIncludes(unit, path => knowledge.get(path)).text
  const bytes = new TextEncoder().encode(JSON.stringify([whole, unit.summary, unit.whenToUse])).length + ENVELOPE_BYTES
  if (bytes > maxResultBytes) {
    const message = `With what they include, these directions make an answer of ${bytes} bytes, and ${maxResultBytes} is the most there may be ("maxResultBytes"): no agent can read them as a prompt or a skill. Part them.`
    faults.push({ severity: 'error', text, message })
  }
  // A tool that does not exist has its own fault.
  if (!unit.isBuiltin && unit.tools.every(name => tools.has(name)) && isOffered(unit) === false) {
    const needed = unit.tools.map(name => `"${name}" (capability "${tools.get(name)?.capability}")`)
    const message = `No agent is offered these directions: none has all of ${needed.join(', ')}.`
    faults.push({ severity: 'warning', text, field: 'tools', message })
  }
  return faults
}

/** The part of an answer that is not the text. */
const ENVELOPE_BYTES = 512

interface LinkFaults {
  readonly faults: Fault[]
  /** Links to files that are no texts, and their fault if there is no such file. */
  readonly toFiles: { readonly path: string; readonly fault: Fault }[]
}

function* linkFaults(generation: Generation, texts: readonly WrittenText[], parse: Parse): Steps<LinkFaults> {
  const found: LinkFaults = { faults: [], toFiles: [] }
  const byFile = new Map(texts.map(text => [text.unit.normalize('NFC'), text]))
  const hasAnchor = createAnchorCheck(generation, parse)
  for (const text of texts) {
    for (const link of text.page.links) {
      const { target } = link
      const path = target === '' ? text.unit : resolvePath(text.unit, target)
      const linked = target === '' ? text : path && byFile.get(path.normalize('NFC'))
      const fault = (message: string): Fault => ({ severity: 'warning', text, bodyLine: link.line, message })
      if (path === undefined) found.faults.push(fault(`The link "${target}" leads out of the project.`))
      else if (linked) {
        if (!hasAnchor(linked, link))
          found.faults.push(fault(`The link "${target}#${link.anchor}" leads to no heading of "${linked.path}".`))
      }
      // Links of the built-in pages to files are not checked: those files are not installed.
      else if (!text.isBuiltin) found.toFiles.push({ path, fault: fault(`The link "${target}" leads to no file.`) })
    }
    yield
  }
  return found
}

/** The top of a page, and lines of its file. */
const ALWAYS_THERE = /^(?:top|L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?)$/i

/** Whether a text has the anchor of a link, in itself or in what it includes. */
function createAnchorCheck({ knowledge }: Generation, parse: Parse): (text: WrittenText, link: LocalLink) => boolean {
  const withIncluded = new Map<WrittenText, ParsedPage>()
  const wholePage = (text: WrittenText) => {
    if (!text.knowledge || includesIn(text.body).length === 0) return text.page
    const page = withIncluded.get(text) ?? parse(withIncludes(text.knowledge, path => knowledge.get(path)).text)
    withIncluded.set(text, page)
    return page
  }
  return (text, { anchor = '' }) => anchor === '' || ALWAYS_THERE.test(anchor) || wholePage(text).hasAnchor(anchor)
}

async function missingFiles(toFiles: LinkFaults['toFiles'], { files }: CheckParts): Promise<Fault[]> {
  const missing = new Set<string>()
  for (const path of new Set(toFiles.map(one => one.path))) if (!(await files.exists(path))) missing.add(path)
  return toFiles.filter(({ path }) => missing.has(path)).map(({ fault }) => fault)
}

/** A path relative to a file, or to the project if it begins with `/`; nothing where it leads out of the project. */
function resolvePath(file: string, target: string): string | undefined {
  const names = target.startsWith('/') ? [] : file.split('/').slice(0, -1)
  for (const name of target.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.pop() === undefined) return undefined
  }
  return names.join('/')
}

/** With file and line as editors and terminals recognise them. */
function toProblem({ severity, text, field, bodyLine, message }: Fault): Problem {
  const { unit, lines, path } = text
  const fieldLine = field === undefined ? undefined : lines?.fields[field]
  const line = lines && bodyLine !== undefined ? lines.body + bodyLine - 1 : fieldLine
  return {
    severity,
    code: 'DEFINITION_INVALID',
    where: line === undefined ? unit : `${unit}:${line}`,
    subject: `${text.knowledge ? 'unit' : 'tool'}:${path}`,
    ...(field === undefined ? {} : { field }),
    message,
  }
}

/** The source of the project's Markdown files, under which problems with all of them are reported. */
export const KNOWLEDGE_SOURCE = 'knowledge'

/** The problems that are about Markdown files. */
export function writtenProblems(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ where }) => where === KNOWLEDGE_SOURCE || /\.md(?::\d+)?$/i.test(where))
}

/** The file of a place, without the line. */
export const fileOf = (where: string): string => where.replace(/:\d+$/, '')

/** More problems of one file are not fixed at once. */
const MOST_OF_FILE = 20

/** Problems in order of file and line, and at most a readable number per file. */
export function fewOfEach(problems: readonly Problem[]): Problem[] {
  // By number where there are numbers: line 5 comes before line 10.
  const inOrder = problems.toSorted((a, b) => a.where.localeCompare(b.where, 'en', { numeric: true }))
  return [...grouped(inOrder.map(problem => [fileOf(problem.where), problem] as const))].flatMap(([file, group]) => {
    const more = group.slice(MOST_OF_FILE)
    return more.length === 0 ? group : [...group.slice(0, MOST_OF_FILE), summaryOf(file, more)]
  })
}

function summaryOf(file: string, more: readonly Problem[]): Problem {
  const severity = more.some(one => one.severity === 'error') ? 'error' : 'warning'
  const message = `There are ${more.length} more things that are wrong with it. Fix these first.`
  return { severity, code: 'DEFINITION_INVALID', where: file, message }
}
