import type { z } from 'zod'
import type { Fault } from './fault.ts'
import { type JsonDocument, offsetOf } from './json-document.ts'
import { type ReferenceSources, resolveReferences } from './references.ts'
import { checkSchema } from './schema-faults.ts'

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
  // A value that could not be replaced is told once, as that; what the schema says about its raw text is noise.
  const mismatches = 'faults' in checked ? checked.faults.filter(fault => !unresolved.has(fault.path.join('.'))) : []
  const missing = resolved.faults.map(fault => ({ ...fault, offset: offsetOf(document, fault.path) }))
  const faults = [...document.faults, ...missing, ...mismatches].sort((a, b) => a.offset - b.offset)
  return faults.length === 0 && 'value' in checked ? { value: checked.value, faults } : { faults }
}
