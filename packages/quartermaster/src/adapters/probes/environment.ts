import type { Probe } from '../../core/catalogue/index.ts'
import { down, UP } from './verdict.ts'

export interface NamedOptions {
  readonly name: string
}

/** Looks whether an environment variable is set and not empty. */
export function environment({ name }: NamedOptions): Probe {
  return {
    describe: { kind: 'environment', name },
    run() {
      const value = process.env[name]
      if (value === undefined) return down(`The environment variable "${name}" is not set.`)
      return value === '' ? down(`The environment variable "${name}" is empty.`) : UP
    },
  }
}

/** Looks whether a secret of this name is there. */
export function secret({ name }: NamedOptions): Probe {
  return {
    describe: { kind: 'secret', name },
    run: context => (context.hasSecret(name) ? UP : down(`There is no secret named "${name}".`)),
  }
}
