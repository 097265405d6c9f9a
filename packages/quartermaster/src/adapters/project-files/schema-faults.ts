import type { Node } from 'jsonc-parser'
import { z } from 'zod'
import type { JsonSchema } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { expectation, type Fault, knownKeys, type Path, schemaAt } from './faults.ts'
import { type JsonDocument, keyOffsetOf, nodeAt, offsetOf } from './json-document.ts'
import { hasReference, type ReferenceSources, resolveReferences } from './references.ts'

type Checked<T> = { value: T } | { faults: Fault[] }

/**
 * Checks a document's values, with references resolved, against a schema. Messages quote the written text, so that the value of
 * a reference never shows.
 */
export function checkSchema<S extends z.ZodType>(
  schema: S,
  value: unknown,
  document: JsonDocument,
): Checked<z.infer<S>> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { value: parsed.data }
  const described = z.toJSONSchema(schema, { io: 'input' })
  return { faults: parsed.error.issues.flatMap(issue => toFaults(issue, described as JsonSchema, document)) }
}

function toFaults(issue: z.core.$ZodIssue, schema: JsonSchema, document: JsonDocument): Fault[] {
  const path = issue.path.map(key => (typeof key === 'symbol' ? String(key) : key))
  const at = schemaAt(schema, path)
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => unknownKey([...path, key], knownKeys(at), document))
  if (issue.code === 'invalid_key') return [wrongKey(path, issue.issues[0]?.message ?? 'must be another one', document)]
  const node = nodeAt(document, path)
  if (!node) return [missing(path, at, document)]
  if (issue.code === 'invalid_format' || issue.code === 'custom')
    return [{ offset: node.offset, path, message: `It ${issue.message}.`, fix: 'Change the text.' }]
  return [mismatch(path, node, at)]
}

function unknownKey(path: Path, known: readonly string[], document: JsonDocument): Fault {
  const key = String(path.at(-1))
  const suggestion = didYouMean(key, known)
  const fix = suggestion ? 'Correct the name or remove it.' : `Remove it; known here: ${known.join(', ')}.`
  return { offset: keyOffsetOf(document, path), path, message: `"${key}" is not known here.${suggestion}`, fix }
}

function wrongKey(path: Path, message: string, document: JsonDocument): Fault {
  const offset = keyOffsetOf(document, path)
  return { offset, path, message: `The name "${String(path.at(-1))}" ${message}.`, fix: 'Choose another name.' }
}

function missing(path: Path, schema: JsonSchema | undefined, document: JsonDocument): Fault {
  const message = `"${String(path.at(-1))}" is missing: expected ${expectation(schema)}.`
  return { offset: offsetOf(document, path), path, message, fix: 'Add it.' }
}

function mismatch(path: Path, node: Node, schema: JsonSchema | undefined): Fault {
  const choices = Array.isArray(schema?.['enum']) ? schema['enum'].map(String) : []
  const suggestion = node.type === 'string' ? didYouMean(node.value, choices) : ''
  const message = `Expected ${expectation(schema)}, found ${found(node, schema)}.${suggestion}`
  return { offset: node.offset, path, message, fix: fixOf(node, schema) }
}

function found(node: Node, schema: JsonSchema | undefined): string {
  if (node.type === 'array') return 'a list'
  if (node.type === 'object') return 'an object'
  if (node.type !== 'string') return String(node.value)
  if (schema?.['enum']) return node.length > 64 ? 'another text' : JSON.stringify(node.value)
  return schema?.['type'] === 'string' ? 'another length' : 'text'
}

function fixOf(node: Node, schema: JsonSchema | undefined): string {
  if (node.type !== 'string') return 'Change the value.'
  const wantsText = schema?.['type'] === 'string'
  if (!wantsText && hasReference(node.value)) return 'A reference always gives text; write the value itself.'
  const bare = /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(node.value)
  return !wantsText && bare ? `Write ${node.value} without quotes.` : 'Change the value.'
}

export interface CheckedDocument<T> {
  /** Absent when there are faults. */
  readonly value?: T
  /** Everything that is wrong, in the order of the text. */
  readonly faults: readonly Fault[]
}

/** A document's values with references replaced, checked against a schema. */
export function checkDocument<S extends z.ZodType>(
  document: JsonDocument,
  schema: S,
  sources: ReferenceSources,
): CheckedDocument<z.infer<S>> {
  const resolved = resolveReferences(document.value, sources)
  const unresolved = new Set(resolved.faults.map(fault => fault.path.join('.')))
  const checked = checkSchema(schema, resolved.value, document)
  // An unresolved reference is reported once; what the schema says about its raw text is noise.
  const mismatches = 'faults' in checked ? checked.faults.filter(fault => !unresolved.has(fault.path.join('.'))) : []
  const missing = resolved.faults.map(fault => ({ ...fault, offset: offsetOf(document, fault.path) }))
  const faults = [...document.faults, ...missing, ...mismatches].sort((a, b) => a.offset - b.offset)
  return faults.length === 0 && 'value' in checked ? { value: checked.value, faults } : { faults }
}
