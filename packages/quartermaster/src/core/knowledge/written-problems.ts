import type { Problem } from '../../contracts/index.ts'

/** What brings what is written in a project. Where the whole of it cannot be read, that is told under this name. */
export const KNOWLEDGE_SOURCE = 'knowledge'

/** A file, perhaps with the line. */
const MARKDOWN_PLACE = /\.md(?::\d+)?$/i

/** Of everything that is wrong with definitions, what is about something written in Markdown. */
export function writtenProblems(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ where }) => where === KNOWLEDGE_SOURCE || MARKDOWN_PLACE.test(where))
}

/** The file of a place, without the line. */
export const fileOf = (where: string): string => where.replace(/:\d+$/, '')

/** More of one file than this is not mended at once. */
const MOST_OF_FILE = 20

/** In order of file and line, and not more of one file than somebody reads. */
export function fewOfEach(problems: readonly Problem[]): Problem[] {
  const byFile = new Map<string, Problem[]>()
  for (const problem of problems.toSorted(byPlace)) {
    const file = fileOf(problem.where)
    const group = byFile.get(file)
    if (group) group.push(problem)
    else byFile.set(file, [problem])
  }
  return [...byFile].flatMap(([file, group]) => {
    const more = group.slice(MOST_OF_FILE)
    return more.length === 0 ? group : [...group.slice(0, MOST_OF_FILE), rest(file, more)]
  })
}

function rest(file: string, more: readonly Problem[]): Problem {
  const severity = more.some(one => one.severity === 'error') ? 'error' : 'warning'
  const message = `There are ${more.length} more things that are wrong with it. Mend these first.`
  return { severity, code: 'DEFINITION_INVALID', where: file, message }
}

/** By number where there are numbers: line 5 comes before line 10. */
function byPlace(one: Problem, other: Problem): number {
  return one.where.localeCompare(other.where, 'en', { numeric: true })
}
