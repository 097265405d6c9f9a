import type { Problem } from '../../contracts/index.ts'
import type { Generation, Knowledge } from '../catalogue/index.ts'
import { didYouMean } from '../kernel/index.ts'
import { checkLinks, type KnowledgeFiles } from './check-links.ts'
import { type Fault, toProblem } from './fault.ts'
import { strayIncludes, withIncludes } from './includes.ts'
import { libraryOf } from './library.ts'

export type { KnowledgeFiles } from './check-links.ts'

/**
 * What is wrong between the units of a generation, and between them and everything else: each by itself was right, or it
 * would not be among them.
 */
export async function checkLibrary(generation: Generation, files: KnowledgeFiles): Promise<Problem[]> {
  const units = [...generation.knowledge.values()]
  const faults = [
    ...includeFaults(generation, units),
    ...units.flatMap(strayFaults),
    ...units.flatMap(unit => pathFaults(unit, generation)),
    ...circleFaults(generation, units),
    ...units.flatMap(unit => toolFaults(unit, generation)),
    ...commandFaults(generation, units),
    ...aliasFaults(generation, units),
    ...(await checkLinks(generation, files)),
  ]
  // By number where there are numbers: line 5 comes before line 10.
  return faults.map(toProblem).sort((a, b) => a.where.localeCompare(b.where, 'en', { numeric: true }))
}

/** Of everything that is wrong with definitions, what is about something written in Markdown. */
export function writtenProblems(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ where }) => where === KNOWLEDGE_SOURCE || MARKDOWN_PLACE.test(where))
}

/** What brings what is written in a project. Where the whole of it cannot be read, that is told under this name. */
export const KNOWLEDGE_SOURCE = 'knowledge'

/** A file, perhaps with the line. */
const MARKDOWN_PLACE = /\.md(?::\d+)?$/i

/** Each line once, whoever includes the unit it stands in. */
function includeFaults({ knowledge }: Generation, units: readonly Knowledge[]): Fault[] {
  const told = new Map<string, Fault>()
  for (const unit of units) {
    for (const { unit: path, line, message } of withIncludes(unit, one => knowledge.get(one)).faults) {
      const place = knowledge.get(path)
      if (place && !told.has(`${path}\n${line}`))
        told.set(`${path}\n${line}`, {
          severity: 'error',
          unit: place,
          bodyLine: line,
          message: `It is not included: ${message}`,
        })
    }
  }
  return [...told.values()]
}

function strayFaults(unit: Knowledge): Fault[] {
  const message = 'An include stands on a line of its own; here it is shown as it is.'
  return strayIncludes(unit.body).map(bodyLine => ({ severity: 'warning', unit, bodyLine, message }))
}

function pathFaults(unit: Knowledge, generation: Generation): Fault[] {
  const { entries } = libraryOf(generation)
  return (['parents', 'seeAlso'] as const).flatMap(field =>
    unit[field]
      .filter(path => !entries.has(path))
      .map(path => ({
        severity: 'warning',
        unit,
        field,
        message: `It names "${path}", and there is nothing there.${didYouMean(path, entries.keys())}`,
      })),
  )
}

function circleFaults({ knowledge }: Generation, units: readonly Knowledge[]): Fault[] {
  const isAboveItself = (unit: Knowledge): boolean => {
    const seen = new Set<string>()
    const waiting = [...unit.parents]
    for (const path of waiting) {
      if (path === unit.path) return true
      if (seen.has(path)) continue
      seen.add(path)
      waiting.push(...(knowledge.get(path)?.parents ?? []))
    }
    return false
  }
  return units
    .filter(isAboveItself)
    .map(unit => ({ severity: 'warning', unit, field: 'parents', message: 'It lies below itself.' }))
}

/** A server that has not been seen yet may still bring it, so it is no error. */
function toolFaults(unit: Knowledge, { tools }: Generation): Fault[] {
  const effect = unit.kind === 'directions' ? ' Nobody is offered these directions.' : ''
  return unit.tools
    .filter(name => !tools.has(name))
    .map(name => ({
      severity: 'warning',
      unit,
      field: 'tools',
      message: `It names the tool "${name}", which does not exist.${didYouMean(name, tools.keys())}${effect}`,
    }))
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
      const first = own.get(command)
      if (first)
        return [
          {
            severity: 'error',
            unit,
            field: 'command',
            message: `"${command}" is the command of "${first.path}" already.`,
          },
        ]
      own.set(command, unit)
      const message = `"${command}" is also a prompt of a capability, which whoever has that one gets instead.`
      return prompts.has(command) ? [{ severity: 'warning', unit, field: 'command', message }] : []
    })
}

function uncalled(unit: Knowledge): Fault {
  const message = `Only directions are called by a command; this is of kind "${unit.kind}".`
  return { severity: 'warning', unit, field: 'command', message }
}

function aliasFaults({ knowledge, tools }: Generation, units: readonly Knowledge[]): Fault[] {
  const taken = new Map<string, Knowledge>()
  return units.flatMap(unit =>
    unit.aliases.flatMap((alias): Fault[] => {
      const word = alias.trim().toLowerCase()
      const first = taken.get(word) ?? knowledge.get(alias.trim())
      if (!first) taken.set(word, unit)
      if (first !== undefined && first !== unit)
        return [
          {
            severity: 'warning',
            unit,
            field: 'aliases',
            message: `"${alias}" is also what "${first.path}" is called.`,
          },
        ]
      const message = `"${alias}" is the name of a tool.`
      return tools.has(alias.trim()) ? [{ severity: 'warning', unit, field: 'aliases', message }] : []
    }),
  )
}
