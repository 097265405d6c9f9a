import type { Problem } from '../../contracts/index.ts'
import type { Generation, Knowledge } from '../catalogue/index.ts'
import { type Clock, didYouMean, inTurns, type Steps } from '../kernel/index.ts'
import { type Asked, checkDirections } from './check-directions.ts'
import { checkLinks, type KnowledgeFiles } from './check-links.ts'
import { toolPath } from './entry.ts'
import { type Fault, toolText, toProblem, unitText, type WrittenText } from './fault.ts'
import { includesIn, strayIncludes, withIncludes } from './includes.ts'
import { libraryOf } from './library.ts'
import { unendedIn } from './markdown.ts'

/** Those who know what a check has to ask. */
export interface CheckParts extends Asked {
  readonly files: KnowledgeFiles
}

export interface CheckDeps extends CheckParts {
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

/** Each line once, whoever includes the unit it stands in. */
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
        : `which does not exist.${didYouMean(name, tools.keys())}${unit.kind === 'directions' ? ' Nobody is offered these directions.' : ''}`
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
      const message = `"${command}" is also a prompt of a capability, which whoever has that one gets instead.`
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
