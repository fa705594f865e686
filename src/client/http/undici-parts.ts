/**
 * What is used of undici. A module of its own, since the bundler gives a package of CommonJS that is imported on demand only as its
 * `default`, while Node gives its names.
 */
export { ProxyAgent } from "undici";
