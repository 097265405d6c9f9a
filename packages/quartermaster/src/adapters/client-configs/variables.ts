import { basename, dirname, resolve, sep } from 'node:path'
import type { ForeignQuestion } from '../../contracts/index.ts'
import { freeName } from '../../core/secrets/index.ts'
import { readBounded, type WrittenInput } from './foreign-file.ts'
import type { ClientPlace, ClientSurroundings } from './places.ts'

/** The values of variables that depend only on the folder. */
interface Surroundings {
  readonly workspace: string
  readonly home: string
  readonly separator: string
}

interface VariableScope extends Surroundings {
  readonly inputs: ReadonlyMap<string, WrittenInput>
  /** The server's name, for the names of its secrets. */
  readonly upstream: string
  /** Whether the client fills in `${NAME}` as well. */
  readonly isPlainFilledIn?: boolean | undefined
  /**
   * Whether the client is an editor, where `${file}` is the open file and no variable of the environment. An unset variable of the
   * environment is empty there, and no error.
   */
  readonly isEditor?: boolean | undefined
}

/** The value with our variables, the questions to a person, and the variables that only the client can fill in. */
interface Translated<T> {
  readonly value: T
  readonly asks: readonly ForeignQuestion[]
  readonly strange: readonly string[]
}

/** Translates the variables in every text of a value. */
export function translateVariables<T>(value: T, scope: VariableScope): Translated<T> {
  const asks = new Map<string, ForeignQuestion>()
  const strange = new Set<string>()
  const text = (written: string) =>
    written.replace(VARIABLE, (whole: string, body: string) => {
      const answer = translate(body, scope, asks)
      if (answer === undefined) strange.add(whole)
      return answer ?? whole
    })
  return { value: mapTexts(value, text) as T, asks: [...asks.values()], strange: [...strange] }
}

/** Whether a `${…}` in a script is a variable of its shell, because the client would leave it unchanged. */
export function isOfShell(body: string | undefined, scope: ShellScope): boolean {
  const { inputs, isPlainFilledIn } = scope
  if (body === undefined) return true
  if (isOfEditor(body, scope)) return false
  if (fixedOf(body) || (body.startsWith('input:') && inputs.has(body.slice('input:'.length)))) return false
  if (PLAIN.test(body)) return !isPlainFilledIn
  // `${env:NAME}`, `${input:id}` and `${config:key}` are for the client; `${NAME:0:3}` is for the shell.
  return !/^\w+:[A-Za-z_]/.test(body)
}

/** Escapes variables that the client passes to the program unchanged: many programs fill them in from `env`. */
export function leftToProgram(word: string, scope: ShellScope): string {
  return word.replace(VARIABLE, (whole, body: string) =>
    PLAIN.test(body) && isOfShell(body, scope) ? `$${whole}` : whole,
  )
}

/** `${NAME}` and `${NAME:-fallback}`. */
const PLAIN = /^[A-Za-z_]\w*(?::-.*)?$/s

type ShellScope = Pick<VariableScope, 'inputs' | 'isPlainFilledIn' | 'isEditor'>

function isOfEditor(body: string, { isEditor }: Pick<VariableScope, 'isEditor'>): boolean {
  return isEditor === true && OF_EDITOR.test(body)
}

/** https://code.visualstudio.com/docs/reference/variables-reference */
const OF_EDITOR =
  /^(?:file(?:WorkspaceFolder(?:Basename)?|Basename(?:NoExtension)?|Extname|Dirname(?:Basename)?)?|relativeFile(?:Dirname)?|lineNumber|columnNumber|selectedText|execPath|defaultBuildTask)$/

/** A path with its variables filled in; nothing where one has no value. */
function fillIn(
  text: string,
  scope: Omit<Surroundings, 'separator'> & { readonly env: Readonly<Record<string, string | undefined>> },
): string | undefined {
  let isWhole = true
  const filled = text.replace(VARIABLE, (_whole, body: string) => {
    const fixed = fixedOf(body)
    const value = fixed ? fixed({ ...scope, separator: sep }) : scope.env[body.replace(/^env:/, '')]
    if (value === undefined) isWhole = false
    return value ?? ''
  })
  return isWhole ? filled : undefined
}

// After a second dollar sign it belongs to the shell.
const VARIABLE = /(?<!\$)\$\{([^}]*)\}/g

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map(item => mapTexts(item, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, map)]))
}

function translate(body: string, scope: VariableScope, asks: Map<string, ForeignQuestion>): string | undefined {
  if (body.startsWith('input:')) return askFor(body.slice('input:'.length), scope, asks)
  const fixed = fixedOf(body)
  if (fixed) return fixed(scope)
  if (isOfEditor(body, scope)) return undefined
  if (scope.isEditor && /^env:[A-Za-z_]\w*$/.test(body)) return `\${${body}:-}`
  // `${NAME}`, `${NAME:-fallback}` and `${env:NAME}` mean the same here.
  return /^(?:env:)?[A-Za-z_]\w*(?::-.*)?$/s.test(body) ? `\${${body}}` : undefined
}

type Fixed = (scope: Surroundings) => string

function fixedOf(body: string): Fixed | undefined {
  const name = body.replace(/^(workspaceFolder):.*$/, '$1')
  return Object.hasOwn(FIXED, name) ? FIXED[name] : undefined
}

const FIXED: Readonly<Record<string, Fixed>> = {
  workspaceFolder: scope => scope.workspace,
  workspaceRoot: scope => scope.workspace,
  cwd: scope => scope.workspace,
  workspaceFolderBasename: scope => basename(scope.workspace),
  userHome: scope => scope.home,
  pathSeparator: scope => scope.separator,
  '/': scope => scope.separator,
}

function askFor(
  id: string,
  { inputs, upstream }: VariableScope,
  asks: Map<string, ForeignQuestion>,
): string | undefined {
  const input = inputs.get(id)
  if (!input || input.type === 'command') return undefined
  const taken = new Set([...asks.values()].filter(other => other.id !== id).map(other => other.secret))
  const secret = freeName(ownName(upstream, id), name => !taken.has(name))
  const { description = id, isPassword: isHidden, fallback } = input
  asks.set(id, { id, secret, prompt: description, isHidden, ...(fallback !== undefined && { fallback }) })
  return `\${secret:${secret}}`
}

/** The name of a secret of a server. */
export function ownName(upstream: string, key: string): string {
  return `${upstream}_${key}`.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()
}

/** The variables of an `envFile`, or why it cannot be read. */
export type EnvFile =
  | { readonly file: string; readonly values: Readonly<Record<string, string>> }
  | { readonly file: string; readonly problem: string }

/** No file of variables is larger. */
const MAX_BYTES = 1024 * 1024

/** Reads the `envFile` of an entry: relative to the workspace, or to the file that names it. */
export async function readEnvFile(
  written: string,
  { workspace, file }: Pick<ClientPlace, 'workspace' | 'file'>,
  { home, env }: ClientSurroundings,
): Promise<EnvFile> {
  const path = fillIn(written, { workspace, home, env })
  if (path === undefined) return { file: written, problem: 'holds a variable that cannot be filled in here' }
  const places = [...new Set([workspace, dirname(file)].map(folder => resolve(folder, path)))]
  for (const place of places) {
    const read = await readBounded(place, MAX_BYTES)
    if ('text' in read) return { file: place, values: variablesIn(read.text) }
    if (read.found) return { file: place, problem: `cannot be used (${read.problem})` }
  }
  return { file: places[0] ?? path, problem: 'is not there' }
}

// A name, and a text: in quotes over any number of lines, or without them to the end of the line.
const LINE =
  /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[=:][ \t]*(?:'([^']*)'|"((?:\\[^]|[^"\\])*)"|`([^`]*)`|([^\r\n]*))/gm

function variablesIn(text: string): Record<string, string> {
  const found = text.matchAll(LINE)
  return Object.fromEntries(
    [...found].map(([, name = '', single, double, tick, plain = '']) => [
      name,
      single ?? (double === undefined ? undefined : unescaped(double)) ?? tick ?? withoutComment(plain),
    ]),
  )
}

function unescaped(text: string): string {
  return text.replace(/\\([nrt"\\])/g, (_all, letter: string) => ESCAPES[letter] ?? letter)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

function withoutComment(text: string): string {
  return text.replace(/(?:^|\s)#.*$/, '').trim()
}
