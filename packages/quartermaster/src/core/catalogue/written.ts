/** Where in its file something stands, counted from 1. */
export interface WrittenLines {
  /** The first line of the body. */
  readonly body: number
  readonly fields: Readonly<Record<string, number>>
}

/** A Markdown file as it was read: what stands at its head, and the rest. With `op` at its head it declares a tool. */
export interface WrittenUnit {
  /** Its folders and its own name, joined by `/`, without the ending. */
  readonly path: string
  readonly front: Readonly<Record<string, unknown>>
  readonly body: string
  /** Absent where it was not read from a file. */
  readonly lines?: WrittenLines | undefined
}

/** Whether it declares a tool rather than being something to read. */
export const isDeclaration = ({ front }: WrittenUnit): boolean => 'op' in front
