import type { ToolResult } from '../../contracts/index.ts'
import { toolResult } from '../../core/catalogue/index.ts'
import { jsonText } from './read-json.ts'

/** A value as a result: as text, and as data. What is no object stands under `value`, because data is one everywhere. */
export function jsonResult(value: unknown, text = jsonText(value)): ToolResult {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return toolResult({ content: [{ type: 'text', text }], structuredContent: isObject ? value : { value } })
}
