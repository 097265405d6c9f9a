/** A row as its values, in the order of the columns. */
export type SqlValues = readonly unknown[]

/** A database that can be asked and not changed. */
export interface SqlConnection {
  query(
    sql: string,
    parameters: readonly unknown[],
    options: { readonly signal: AbortSignal },
  ): Promise<readonly SqlValues[]>
}

/** The databases that the configuration names. */
export interface SqlConnections {
  get(name: string): SqlConnection | undefined
}
