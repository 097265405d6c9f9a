import { isRecord } from '../../mcp-wire/index.ts'

/** An error that the server answered. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown
  constructor(error: { readonly code: number; readonly message: string; readonly data?: unknown }) {
    super(error.message)
    this.name = 'RpcError'
    this.code = error.code
    this.data = error.data
  }
}

/** A server may answer with an error of any shape. */
export function toRpcError(error: unknown): RpcError {
  const { code, message, data } = isRecord(error) ? error : {}
  return new RpcError({
    code: typeof code === 'number' ? code : RPC.internal,
    message: typeof message === 'string' ? message : 'It gave no reason.',
    data,
  })
}

/** The codes of JSON-RPC and MCP that mean something to us. */
export const RPC = {
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  /** Before 2026-07-28; after it such a resource is an invalid parameter. */
  resourceNotFound: -32_002,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
  /** Before 2026-07-28: addresses that a person has to visit first. */
  urlElicitationRequired: -32_042,
} as const
