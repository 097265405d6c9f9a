import type { Problem } from '../../contracts/index.ts'

/** Whether a problem stands in one of these files or sources. The place may have a line behind it. */
export function isIn({ where }: Problem, units: ReadonlySet<string>): boolean {
  return units.has(fileOf(where))
}

/** Whether a problem speaks of something by this name: as what it is about, as its file, or in its words. */
export function isAboutName({ where, subject = '', message }: Problem, name: string): boolean {
  const file = fileOf(where)
  const base = file.slice(file.lastIndexOf('/') + 1)
  const names = [file, base, base.replace(/\.[^.]+$/, ''), subject, subject.slice(subject.indexOf(':') + 1)]
  return names.includes(name) || message.includes(`"${name}"`)
}

function fileOf(where: string): string {
  return where.replace(/:\d+$/, '')
}
