/** A Markdown file as it was read: what stands at its head, and the rest. With `op` at its head it declares a tool. */
export interface WrittenUnit {
  /** Its folders and its own name, joined by `/`, without the ending. */
  readonly path: string
  readonly front: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Whether it declares a tool rather than being something to read. */
export const isDeclaration = ({ front }: WrittenUnit): boolean => 'op' in front
