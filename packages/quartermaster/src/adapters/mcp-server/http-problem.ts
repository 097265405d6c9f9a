import type { AppError } from '../../contracts/index.ts'

/** An error before MCP begins: a JSON-RPC error, because that is what such clients read, with our facts in its data. */
export function problem(error: AppError, status: number, headers: Record<string, string> = {}): Response {
  const body = { jsonrpc: '2.0', id: null, error: { code: -32000, message: error.message, data: error.toJSON() } }
  return Response.json(body, { status, headers })
}
