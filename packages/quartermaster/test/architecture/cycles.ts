export type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** One shortest way around for every group of nodes that reach each other: `['a', 'b', 'a']`. */
export function findCycles(graph: Graph): string[][] {
  const reported = new Set<string>()
  const cycles: string[][] = []
  for (const start of [...graph.keys()].sort()) {
    if (reported.has(start)) continue
    const cycle = shortestWay(graph, start, start)
    if (!cycle) continue
    cycles.push(cycle)
    for (const node of graph.keys()) {
      if (shortestWay(graph, start, node) && shortestWay(graph, node, start)) reported.add(node)
    }
  }
  return cycles
}

function shortestWay(graph: Graph, from: string, to: string): string[] | undefined {
  const seen = new Set<string>()
  const ways = [[from]]
  for (const way of ways) {
    for (const next of graph.get(way.at(-1) ?? '') ?? []) {
      if (next === to) return [...way, next]
      if (seen.has(next)) continue
      seen.add(next)
      ways.push([...way, next])
    }
  }
  return undefined
}
