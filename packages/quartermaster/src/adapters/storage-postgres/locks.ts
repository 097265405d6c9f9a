/** Ours among the advisory locks of a database: for commits, and for changes of its shape. */
export const LOCKS = { commits: 74_201, shapes: 74_202 } as const
