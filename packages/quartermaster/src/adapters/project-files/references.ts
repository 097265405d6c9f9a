import type { Secrets } from '../../core/catalogue/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import type { Path } from './faults.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The values for references. If the secrets file could not be read, references to secrets stay as they are. */
export interface ReferenceSources {
  readonly env: Environment
  readonly secrets: Secrets | undefined
  /** Receives every value that replaced a reference, so that it can be masked. */
  readonly onValue?: ((value: string, kind: 'env' | 'secret') => void) | undefined
}

/** A reference without a value. Never contains one. */
interface ReferenceFault {
  readonly path: Path
  readonly message: string
  readonly fix: string
}

/** The same values with every `${env:NAME}`, `${NAME}` and `${secret:NAME}` in their texts replaced. Names of properties stay. */
export function resolveReferences(
  value: unknown,
  sources: ReferenceSources,
): { value: unknown; faults: ReferenceFault[] } {
  const faults: ReferenceFault[] = []
  return { value: resolveValue(value, [], { sources, faults }), faults }
}

/** Whether a text holds anything that would be replaced. */
export function hasReference(text: string): boolean {
  return text.includes('${')
}

/** The names of the secrets that the texts of a value refer to, each once. */
export function secretNamesIn(value: unknown): string[] {
  const names = new Set<string>()
  // Only the requested names matter here, not their values.
  const secrets: Secrets = { get: name => (names.add(name), '') }
  resolveReferences(value, { env: {}, secrets })
  return [...names]
}

interface Resolution {
  readonly sources: ReferenceSources
  readonly faults: ReferenceFault[]
}

function resolveValue(value: unknown, path: Path, resolution: Resolution): unknown {
  if (typeof value === 'string') return resolveText(value, path, resolution)
  if (Array.isArray(value)) return value.map((item, index) => resolveValue(item, [...path, index], resolution))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, resolveValue(item, [...path, key], resolution)]),
  )
}

// The escape first, so that `$${` is never read as a dollar sign before a reference.
const REFERENCE = /\$\$\{|\$\{([^}]*)(\}?)/g

function resolveText(text: string, path: Path, { sources, faults }: Resolution): string {
  return text.replace(REFERENCE, (whole: string, body: string | undefined, close: string | undefined) => {
    if (body === undefined) return '${'
    const found = close ? lookUp(body, sources) : UNCLOSED
    if (typeof found === 'string') {
      sources.onValue?.(found, body.startsWith('secret:') ? 'secret' : 'env')
      return found
    }
    if (found) faults.push({ path, ...found })
    return whole
  })
}

type Fail = Omit<ReferenceFault, 'path'>

const UNCLOSED: Fail = {
  message: 'A "${" is never closed.',
  fix: 'Close it with "}", or write "$${" for the characters themselves.',
}

// `${NAME:-fallback}` has a colon too, but that one is followed by "-".
const BODY = /^(?:([^:]*):(?!-))?(.*)$/s

function lookUp(body: string, sources: ReferenceSources): string | Fail | undefined {
  const [, scheme = 'env', rest = ''] = BODY.exec(body) ?? []
  if (scheme === 'env') return lookUpVariable(rest, sources.env)
  if (scheme === 'secret') return lookUpSecret(rest, sources.secrets)
  const suggestion = didYouMean(scheme, ['env', 'secret'])
  return {
    message: `"\${${scheme}:…}" is no kind of reference.${suggestion}`,
    fix: 'Use ${env:NAME} or ${secret:NAME}.',
  }
}

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

function lookUpVariable(rest: string, env: Environment): string | Fail {
  const [, name, fallback] = VARIABLE.exec(rest) ?? []
  if (name === undefined) return badName('environment variable', '${env:NAME} or ${env:NAME:-fallback}')
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  // As in a shell, ":-" also stands in for a variable that is set to nothing.
  if (fallback !== undefined) return value || fallback
  if (value !== undefined) return value
  return {
    message: `The environment variable "${name}" is not set.`,
    fix: `Set it, give a fallback: \${${name}:-…}, or write $\${${name}} where the shell of a script is to fill it in.`,
  }
}

const SECRET = /^[A-Za-z0-9_.-]+$/

function lookUpSecret(name: string, secrets: Secrets | undefined): string | Fail | undefined {
  if (!SECRET.test(name)) return badName('secret', '${secret:NAME}; a secret has no fallback')
  if (!secrets) return undefined
  const fix = 'Add it to secrets.json in the data folder.'
  return secrets.get(name) ?? { message: `The secret "${name}" is not there.`, fix }
}

function badName(what: string, form: string): Fail {
  return { message: `A reference does not name a valid ${what}.`, fix: `Write ${form}.` }
}
