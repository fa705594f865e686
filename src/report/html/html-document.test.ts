import { describe, expect, it } from "vitest";
import { escapeHtml, escapeJson, renderDocument } from "./html-document.ts";

describe("the document", () => {
  const EVIL = '</SCRIPT><script>alert("x")</script><!--\u2028';

  it("holds JSON that cannot end its element and reads back as it was", () => {
    const text = escapeJson({ [EVIL]: [EVIL] });
    expect(text).not.toMatch(/<|\u2028/);
    expect(JSON.parse(text)).toEqual({ [EVIL]: [EVIL] });
  });

  it("escapes titles and plain lines, and names its script by hash", () => {
    const html = [
      ...renderDocument({
        title: EVIL,
        data: EVIL,
        blobs: [["AAAA", "BBBB"]],
        plainLines: [EVIL],
        assets: { script: "1+1", style: "a{}" },
      }),
    ].join("");
    expect(html.match(/<script/g)?.length).toBe(4);
    expect(html.match(/<\/script>/gi)?.length).toBe(4);
    // printf '1+1' | openssl dgst -sha256 -binary | base64
    expect(html).toContain("script-src 'sha256-Shsh2HauAMjtXE0c3gnGH4phtQ/jcKgBsQwzmDHzcKs='");
    expect(html).toContain("style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='");
    expect(html).toContain("default-src 'none'");
    expect(html).not.toContain("connect-src");
    expect(escapeHtml('<a href="&">')).toBe("&lt;a href=&quot;&amp;&quot;&gt;");
  });
});
