import type { StorageAccess } from './storage.ts'

/** Makes texts about an operation that only this store's processes can have made, and read. */
export interface OperationSeal {
  seal(text: string, operationId: string): Promise<string>
  /** Rejects what was made up, changed, or is about another operation. */
  open(sealed: string, operationId: string): Promise<string>
}

export function createOperationSeal(storage: StorageAccess): OperationSeal {
  const placeOf = (id: string) => ({ table: 'operations' as const, id, column: 'requestState' })
  return {
    seal: async (text, id) => (await storage.open()).sealer.seal(text, placeOf(id)),
    open: async (sealed, id) => (await storage.open()).sealer.open(sealed, placeOf(id)),
  }
}
