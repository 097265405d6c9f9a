import { Name } from '../../contracts/index.ts'

/** The longest name that a tool or a parameter may have. */
export const LONGEST_NAME = 64

/** Names of parameters have letters that every runtime takes, and are none that objects have of themselves. */
export function nameOf(field: string): string {
  const name = field
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^[_-]+|_+$/g, '')
    .slice(0, 60)
  if (name === '') return 'value'
  return Name.safeParse(name).success ? name : `the_${name.slice(0, 56)}`
}

/** Answers the name, with a number behind it where it is taken; from then on it is taken itself. */
export function freeNames(given: Iterable<string> = []): (name: string) => string {
  const taken = new Set(given)
  // Where counting goes on: thousands of paths may come to the same name.
  const counted = new Map<string, number>()
  return name => {
    let free = name
    let number = counted.get(name) ?? 1
    while (taken.has(free)) {
      const ending = `_${++number}`
      free = `${name.slice(0, LONGEST_NAME - ending.length)}${ending}`
    }
    counted.set(name, number)
    taken.add(free)
    return free
  }
}
