import type { Problem } from '../../contracts/index.ts'

/** Those that nobody was told of before. Two that say the same of the same place are one. */
export function newProblems(now: readonly Problem[], known: readonly Problem[]): Problem[] {
  const texts = new Set(known.map(textOf))
  return now.filter(problem => !texts.has(textOf(problem)))
}

function textOf({ where, message }: Problem): string {
  return `${where}\n${message}`
}
