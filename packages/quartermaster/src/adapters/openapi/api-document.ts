import { LineCounter, parseDocument as parseYaml, visit } from 'yaml'
import { AppError, Name } from '../../contracts/index.ts'

/** A description of an API in OpenAPI 3.0 or 3.1. */
export interface ApiDocument {
  readonly title: string
  readonly isOld: boolean
  readonly root: Node
}

/** The largest public documents have 12 MB. */
export const DOCUMENT_BYTES = 32 * 1024 * 1024
/** `yaml` takes some seconds for this much. */
export const YAML_BYTES = 8 * 1024 * 1024
/** With more, a small text of anchors could expand into one that fills the memory. */
const MOST_ALIASES = 10_000
/** Deeper than any real API description; far deeper, it could not be serialised again. */
const DEEPEST = 200

/** Refuses a document by its size, before it is read where possible. */
export function refuseTooLarge(bytes: number): void {
  if (bytes > DOCUMENT_BYTES) throw invalid(`The document is larger than ${DOCUMENT_BYTES / 1024 / 1024} MiB.`)
}

/** Reads a document. Throws `INPUT_INVALID` with what it is instead. */
export function readApiDocument(text: string): ApiDocument {
  refuseTooLarge(Buffer.byteLength(text))
  const root = readValue(text.replace(/^\uFEFF/, ''))
  if (isDeeper(root, DEEPEST)) throw tooDeep()
  if (!isRecord(root)) throw invalid('It is no OpenAPI document.')
  if (root.swagger !== undefined)
    throw invalid('It is Swagger 2. Convert it to OpenAPI 3 first, as "npx swagger2openapi" does.')
  const version = String(root.openapi ?? '')
  // Without quotes, YAML reads 3.0 as the number 3.
  if (!/^3(?:\.[01])?(?:\.|$)/.test(version))
    throw invalid(
      version === ''
        ? 'It is no OpenAPI document: it does not say "openapi: 3.1.0" or the like.'
        : `It is OpenAPI ${version.slice(0, 20)}, and 3.0 and 3.1 are read here.`,
    )
  if (!isRecord(root.paths)) throw invalid('It describes no paths.')
  const title = isRecord(root.info) && typeof root.info.title === 'string' ? root.info.title : 'API'
  return { title, isOld: !version.startsWith('3.1'), root }
}

function readValue(text: string): unknown {
  try {
    return /^\s*\{/.test(text) ? JSON.parse(text) : readYaml(text)
  } catch (error) {
    if (error instanceof AppError) throw error
    const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''
    if (/call stack/i.test(said)) throw tooDeep()
    throw invalid(`It is neither JSON nor YAML: ${said}`)
  }
}

function isDeeper(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return left === 0 || Object.values(value).some(one => isDeeper(one, left - 1))
}

function tooDeep(): AppError {
  return invalid('It is nested deeper than can be read.')
}

function invalid(message: string): AppError {
  return new AppError('INPUT_INVALID', message)
}

/** The value of a text in YAML. Throws what `yaml` throws, with line and column. */
function readYaml(text: string): unknown {
  if (Buffer.byteLength(text) > YAML_BYTES)
    throw invalid(`YAML is read up to ${YAML_BYTES / 1024 / 1024} MiB; give a larger document as JSON.`)
  const lines = new LineCounter()
  // The library compares every key of a map with all others, which takes minutes for thousands of paths.
  const document = parseYaml(text, { lineCounter: lines, uniqueKeys: false, merge: true })
  const [error] = document.errors
  if (error) throw error
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<string>()
      for (const { key } of items) {
        const name = String(key)
        if (keys.has(name)) {
          const { line, col } = lines.linePos((key as { range?: [number] }).range?.[0] ?? 0)
          throw new Error(`"${name}" is there twice (line ${line}, column ${col})`)
        }
        keys.add(name)
      }
    },
  })
  return document.toJS({ maxAliasCount: MOST_ALIASES })
}

/** Follows the references of a document, which lead nowhere else. */
export interface References {
  /** The object itself, where a reference stands. */
  follow(value: unknown): Node
}

/** A chain of references that is longer leads in a circle. */
const LONGEST_CHAIN = 50

export function createReferences(root: Node): References {
  const known = new Map<string, unknown>()
  const targetOf = (reference: string) => {
    const target = known.get(reference) ?? found(root, reference)
    known.set(reference, target)
    return target
  }
  return {
    follow(value) {
      let node = value
      for (let steps = 0; isRecord(node) && typeof node.$ref === 'string'; steps++) {
        if (steps > LONGEST_CHAIN) throw new Unmappable(`The reference "${node.$ref}" leads in a circle.`)
        node = targetOf(node.$ref)
      }
      return isRecord(node) ? node : {}
    },
  }
}

function found(root: Node, reference: string): unknown {
  if (!reference.startsWith('#/'))
    throw new Unmappable(`It refers to "${reference}" in another document; put all into one first.`)
  let node: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = decode(step)
    node = (isRecord(node) || Array.isArray(node)) && Object.hasOwn(node, name) ? (node as Node)[name] : undefined
  }
  if (node === undefined) throw new Unmappable(`The reference "${reference}" leads nowhere.`)
  return node
}

function decode(step: string): string {
  let text = step
  try {
    text = decodeURIComponent(step)
  } catch {
    // Then it is meant as it is written.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** An object of a document, of which nothing is known. */
export type Node = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function recordsIn(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

export function textIn(node: Node, field: string): string | undefined {
  const value = node[field]
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** Why nothing can be made of an operation, as a sentence. */
export class Unmappable extends Error {}

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
