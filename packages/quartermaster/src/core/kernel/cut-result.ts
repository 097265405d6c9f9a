import { KEPT_META, KeptResult, TOLD_TOOLS, type Toolbox, type ToolResult } from '../../contracts/index.ts'

/** The content of a cut result without its end, where clients of MCP read in words and as a link at which resource it goes on. */
export function withoutRest(content: ToolResult['content']): ToolResult['content'] {
  return content.slice(0, -2)
}

/** A cut result for a model that has tools and cannot read resources: at its end stands what it can do about the rest. */
export async function readableOn(result: ToolResult, toolbox: Toolbox): Promise<ToolResult> {
  const kept = KeptResult.safeParse(result._meta?.[KEPT_META])
  if (!kept.success) return result
  const canReadOn = kept.data.isRecorded && (await hasStatus(toolbox))
  const text = canReadOn ? withStatus(kept.data) : withoutTool(kept.data)
  return { ...result, content: [...withoutRest(result.content), { type: 'text', text }] }
}

async function hasStatus(toolbox: Toolbox): Promise<boolean> {
  // Whoever cannot be asked now has no more to say, and the result is there.
  const tools = await toolbox.tools().catch(() => [])
  return tools.some(tool => tool.name === TOLD_TOOLS.status)
}

function withStatus({ resultId, nextOffset }: KeptResult): string {
  return `[It goes on. Read on: ${TOLD_TOOLS.status} with { "id": "${resultId}", "offset": ${nextOffset} }.]`
}

function withoutTool({ resultId, nextOffset, totalBytes }: KeptResult): string {
  return (
    `[It goes on: this is the beginning of ${totalBytes} bytes, and you have no tool to read the rest. Ask for less at once. ` +
    `Whoever runs you reads on with page("${resultId}", ${nextOffset}) of the toolbox.]`
  )
}
