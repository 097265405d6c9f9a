import type { Generation, Knowledge } from '../catalogue/index.ts'
import { type Directions, isDirections } from './directions.ts'
import { type Fault, unitText } from './fault.ts'
import { withIncludes } from './includes.ts'

/** What is asked of those who offer directions and answer with them. */
export interface Asked {
  /** How many bytes an answer may have. */
  readonly maxResultBytes: number
  /** Whether some agent is offered these directions; `undefined` where there is no agent that could be. */
  isOffered(directions: Directions): boolean | undefined
}

/** Directions that are right as they stand, and that nobody can follow. */
export function checkDirections(unit: Knowledge, generation: Generation, asked: Asked): Fault[] {
  if (!isDirections(unit)) return []
  return [...sizeFault(unit, generation, asked), ...offerFault(unit, generation, asked)]
}

/** They are read as a whole or not at all, so what is too long is an error. */
function sizeFault(unit: Directions, { knowledge }: Generation, { maxResultBytes }: Asked): Fault[] {
  const { text } = withIncludes(unit, path => knowledge.get(path))
  const bytes = new TextEncoder().encode(JSON.stringify([text, unit.summary, unit.whenToUse])).length + AROUND_BYTES
  if (bytes <= maxResultBytes) return []
  const message = `With what they include, these directions make an answer of ${bytes} bytes, and ${maxResultBytes} is the most there may be ("maxResultBytes"): nobody can read them as a prompt or a skill. Part them.`
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
